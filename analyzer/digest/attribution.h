// SPDX-License-Identifier: Apache-2.0
// Finds the range of a host thread that caused a GPU activity (docs/analysis/facts.md). Never a
// containment join: one pass over rows in start order, with a stack of open ranges per thread.
//
// An activity is joined to its launch call by correlation (LaunchIndex), the call to the innermost
// range open on its thread (attribute), and the chain continues upwards by parent ids.
//
// Threading  pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/interval.h"

namespace dprof::analyzer {

inline constexpr int32_t kNoRange = -1;

// Half-open; a range of length 0 contains nothing, but has a parent.
struct NestedRange {
  TraceNs begin;
  TraceNs end;
  int32_t thread = 0;
};

struct LaunchCall {
  TraceNs at;
  int64_t correlation = 0;
  int32_t thread = 0;
};

struct Attribution {
  std::vector<int32_t> parent;  // of each range: a position, or kNoRange
  std::vector<int32_t> owner;   // of each launch call: the innermost range open at its time
};

// The parent of a range is the innermost other range of its thread that is open when it begins. If
// several begin together, the longer one is the parent; of equal ones the earlier row.
//
// Both lists should be in start order on each thread; if not, they are sorted, at 4 bytes per
// entry. O(n) when ordered; memory: the result, 4 bytes per launch, and the depth.
[[nodiscard]] Attribution attribute(std::span<const NestedRange> ranges,
                                    std::span<const LaunchCall> launches);

// Finds launch calls by correlation; among equal ones the earliest (a runtime call contains a
// driver call). Keeps a reference to the calls. 8 to 16 bytes per call.
class LaunchIndex {
 public:
  explicit LaunchIndex(std::span<const LaunchCall> launches);

  // A position among the calls, or kNoRange. O(1).
  [[nodiscard]] int32_t find(int64_t correlation) const;

 private:
  static constexpr size_t kNeighbours = 16;  // consecutive numbers share a cache line

  [[nodiscard]] size_t slot_of(int64_t correlation) const;

  std::span<const LaunchCall> launches_;
  std::vector<int32_t> slots_;  // a power of two, at most half full
  int shift_ = 63;
};

// The open ranges of one thread, outermost first; ranges are added in order of their begin.
// Amortised O(1); those that begin together are sorted by length.
template <typename Tag>
class OpenRanges {
 public:
  struct Open {
    TraceNs begin;
    TraceNs end;
    Tag tag;
  };

  // Removes ranges that ended by `at`, calling closed(Open) for each, innermost first. A range of
  // length 0 at `at` remains: a longer one that begins there can still follow.
  template <typename Closed>
  void close_until(TraceNs at, Closed&& closed) {
    while (!open_.empty() &&
           (open_.back().end < at || (open_.back().end == at && open_.back().begin < at))) {
      const Open gone = open_.back();
      open_.pop_back();
      closed(gone);
    }
  }
  void close_until(TraceNs at) {
    close_until(at, [](const Open&) {});
  }

  // Returns its place; ranges above it began at the same time and are shorter.
  size_t push(const Open& range) {
    size_t place = open_.size();
    while (place > 0 && open_[place - 1].begin == range.begin && open_[place - 1].end < range.end)
      --place;
    open_.insert(open_.begin() + static_cast<ptrdiff_t>(place), range);
    return place;
  }

  // The innermost one below `place` that covers `at`; nullptr = none.
  [[nodiscard]] const Open* covering(TraceNs at, size_t place) const {
    for (size_t i = place; i-- > 0;) {
      if (open_[i].end > at) return &open_[i];
    }
    return nullptr;
  }
  [[nodiscard]] const Open* innermost(TraceNs at) const { return covering(at, open_.size()); }
  [[nodiscard]] std::span<Open> above(size_t place) { return std::span(open_).subspan(place + 1); }
  [[nodiscard]] std::span<Open> all() { return open_; }

 private:
  std::vector<Open> open_;
};

// Small numbers for the ids of threads or streams, by first appearance. Optimised for runs of the
// same id.
class DenseIndex {
 public:
  size_t of(int64_t id) {
    if (id == last_id_ && !numbers_.empty()) return last_;
    last_id_ = id;
    last_ = numbers_.try_emplace(id, numbers_.size()).first->second;
    return last_;
  }
  [[nodiscard]] size_t size() const { return numbers_.size(); }

 private:
  std::unordered_map<int64_t, size_t> numbers_;
  int64_t last_id_ = 0;
  size_t last_ = 0;
};

}  // namespace dprof::analyzer
