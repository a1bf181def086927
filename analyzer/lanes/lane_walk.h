// SPDX-License-Identifier: Apache-2.0
// Walks the nested slices of a thread's lanes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "analyzer/lanes/lanes.h"
#include "base/interval.h"

namespace dprof::analyzer {

// The slices of a lane that touch a range: [first, end). They never overlap. O(log slices).
struct SliceRange {
  size_t first = 0;
  size_t end = 0;
};
[[nodiscard]] inline SliceRange slices_in(const Lane& lane, Interval range) {
  const auto begin = lane.start_ns.begin();
  auto first =
      static_cast<size_t>(std::upper_bound(begin, lane.start_ns.end(), range.begin.ns) - begin);
  if (first > 0 && lane.start_ns[first - 1] + lane.duration_ns[first - 1] > range.begin.ns) --first;
  const auto end =
      static_cast<size_t>(std::lower_bound(begin, lane.start_ns.end(), range.end.ns) - begin);
  return {first, std::max(first, end)};
}

// Calls visit(lane, slice, parent) for each slice that touches the range, after the slice that
// encloses it; its return value is the `parent` of the slices within. Outermost slices get `root`.
// O(slices in the range).
template <typename Parent, typename Visit>
class NestedWalk {
 public:
  NestedWalk(const ThreadLanes& thread, Interval range, const Visit& visit)
      : thread_(thread), visit_(visit) {
    for (const Lane& lane : thread.depths) left_.push_back(slices_in(lane, range));
    end_ns_ = range.end.ns;
  }
  void from(const Parent& root) { walk(0, end_ns_, root); }

 private:
  void walk(size_t depth, int64_t until_ns, const Parent& parent) {
    if (depth >= left_.size()) return;
    const Lane& lane = thread_.depths[depth];
    SliceRange& left = left_[depth];
    while (left.first < left.end && lane.start_ns[left.first] < until_ns) {
      const size_t slice = left.first++;
      const Parent own = visit_(lane, slice, parent);
      walk(depth + 1, lane.start_ns[slice] + lane.duration_ns[slice], own);
    }
  }

  const ThreadLanes& thread_;
  const Visit& visit_;
  std::vector<SliceRange> left_;
  int64_t end_ns_ = 0;
};

template <typename Parent, typename Visit>
void walk_nested(const ThreadLanes& thread, Interval range, const Parent& root,
                 const Visit& visit) {
  NestedWalk<Parent, Visit>(thread, range, visit).from(root);
}

}  // namespace dprof::analyzer
