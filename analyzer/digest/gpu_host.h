// SPDX-License-Identifier: Apache-2.0
// The host side of a rank with GPUs: what each thread did over time, and the calls that launched
// work. Built from the stream of ranges, without keeping any.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/digest/attribution.h"
#include "analyzer/digest/range_names.h"
#include "analyzer/digest/thread_sketch.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer {

// A thread's activity, as far as it matters for the device's idle time. Ranges within a relevant
// kind are of that kind too: an operator within the loader belongs to the loader.
enum class HostClass : uint8_t {
  kNone,  // nothing recorded
  kRange,
  kInput,
  kCheckpoint,
  kOptimizer,
  kLogging,
  kGc,
  kAllocation,
  kCollectiveWait,
};

struct HostState {
  HostClass what = HostClass::kNone;
  schema::Marker phase = schema::Marker::kNone;
  friend bool operator==(HostState, HostState) = default;
};

// One thread. Invariant of `pieces`: in order, neighbours differ; each holds until the next.
struct HostThread {
  struct Piece {
    TraceNs begin;
    HostState state;
  };
  std::vector<Piece> pieces;
  IntervalSet blocking;     // calls that wait for the device
  IntervalSet allocations;  // calls
  IntervalSet profiler;     // the profiler's own cost
  IntervalSet input;        // waits for the loader without a range
  bool has_autograd = false;
  int64_t phases = 0;
  int64_t ranges = 0;

  [[nodiscard]] HostState state_at(TraceNs at) const;
  // When the state at `at` ends; INT64_MAX for the last one.
  [[nodiscard]] TraceNs next_change(TraceNs at) const;
};

// Invariant  ranges of one thread are added in order of their begin, as are, among themselves, its
//            rows of categories api and overhead; a late one counts from the last begin on.
// Cost       about 50 ns per range.
// Memory     16 bytes per change of state, 24 per API call with a correlation, 16 per blocking
//            call, 8 per autograd node.
class HostSide {
 public:
  void add(const schema::HostRangeRow& row, const RangeKind& kind, std::string_view name,
           Interval span);
  void add_loader_wait(int64_t thread_id, Interval span);
  // No more rows follow.
  void finish();

  [[nodiscard]] std::span<const LaunchCall> launches() const { return launches_; }
  // All threads' calls that wait for the device, or can do so.
  [[nodiscard]] IntervalSet take_device_waits() { return union_of(std::move(device_waits_)); }
  // Only where no forward is marked but an optimizer is: from the first to the last launch of what
  // the training thread launched outside all phases before autograd's own threads began a backward.
  [[nodiscard]] IntervalSet take_forwards() { return std::move(forwards_); }
  // The phase of the launch's own thread or, if unknown, of the autograd engine or the training
  // thread.
  [[nodiscard]] schema::Marker phase_of(const LaunchCall& launch) const;
  [[nodiscard]] const HostThread& thread(int32_t number) const {
    return threads_[static_cast<size_t>(number)].done;
  }
  // The thread with the most phases, then the most ranges; kNoRange = none.
  [[nodiscard]] int32_t training_thread() const { return training_; }

 private:
  struct Tag {
    RangeClass own = RangeClass::kNamed;
    schema::Marker marker = schema::Marker::kNone;
    HostState state;  // including the enclosing ranges
  };
  struct Walk {
    OpenRanges<Tag> open;
    TraceNs latest{INT64_MIN};
    IntervalGatherer blocking, copies, allocations, profiler, input;
    std::vector<TraceNs> nodes;  // begins of autograd nodes
    HostThread done;
  };

  int32_t thread_number(int64_t id);
  void add_call(const schema::HostRangeRow& row, std::string_view name, Interval span);
  ApiClass api_class(int64_t name_id, std::string_view name);
  static void close(Walk& walk, TraceNs at);
  static void enter(Walk& walk, const RangeKind& kind, Interval span);
  static void say(Walk& walk, TraceNs from, HostState state);
  [[nodiscard]] IntervalSet unmarked_forwards() const;
  static void set_forward(Walk& walk, const IntervalSet& forwards);

  DenseIndex numbers_;
  std::vector<Walk> threads_;
  std::vector<LaunchCall> launches_;
  std::vector<std::optional<ApiClass>> api_classes_;  // by name
  std::vector<Interval> device_waits_;
  IntervalSet forwards_;
  int32_t training_ = kNoRange;
  bool forward_marked_ = false;
  bool optimizer_marked_ = false;
};

}  // namespace dprof::analyzer
