// SPDX-License-Identifier: Apache-2.0
// Causes of a device's idle time (docs/analysis/breakdown.md). Private to digest/gpu*.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/digest/gpu.h"
#include "analyzer/digest/gpu_activities.h"
#include "analyzer/digest/gpu_host.h"

namespace dprof::analyzer {

// A stream's wait for another one, as called by the host.
struct StreamWait {
  TraceNs called;
  TraceNs recorded;     // when recording the event was called
  uint32_t source = 0;  // stream that is waited for
};
inline constexpr uint32_t kUnknownStream = UINT32_MAX;

// Waits between activities, over all devices. Memory 16 bytes per activity, if any waits.
class Dependencies {
 public:
  Dependencies() = default;
  // `waits` by the small number of the waiting stream.
  Dependencies(std::vector<std::vector<StreamWait>> waits, const Activities& activities,
               std::span<const LaunchCall> launches);

  // True if the activity waited for something that ended in [from, to).
  [[nodiscard]] bool waited(const Activity& activity, TraceNs launched, TraceNs from,
                            TraceNs to) const;
  // True if it waited for an event recorded at or after `since`, or at an unknown time.
  [[nodiscard]] bool waited_since(const Activity& activity, TraceNs launched, TraceNs since) const;
  // Waits of that stream were recorded.
  [[nodiscard]] bool knows(uint32_t stream) const {
    return stream < waits_.size() && !waits_[stream].empty();
  }

 private:
  // Waits called between the previous launch on its stream and its own launch.
  [[nodiscard]] std::span<const StreamWait> waits_before(const Activity& activity,
                                                         TraceNs launched) const;

  struct Launched {
    TraceNs at;
    TraceNs end;
  };
  std::vector<std::vector<StreamWait>> waits_;    // by stream, in order of the call
  std::vector<std::vector<Launched>> of_stream_;  // in order of launch
};

// Times with missing rows.
struct Missing {
  IntervalSet gpu;   // of the device
  IntervalSet host;  // of the host's threads
};

// A gap of one device: what ended it, and which thread launched the work before it.
struct Gap {
  Interval span;
  const Activity* closed_by = nullptr;  // nullptr = the trace ended
  int32_t thread_before = kNoRange;     // thread of the launch before the gap
};

class GapClassifier {
 public:
  GapClassifier(const HostSide& host, std::span<const LaunchCall> launches,
                const Dependencies& dependencies, const Missing& missing)
      : host_(host), launches_(launches), dependencies_(dependencies), missing_(missing) {}

  // Calls say(begin, category, detail) for the parts of the gap, in order, without holes.
  using Say = std::function<void(TraceNs, Category, HostDetail)>;
  void classify(const Gap& gap, const Say& say) const;

 private:
  void starve(const Gap& gap, TraceNs until, int32_t thread, const Say& say) const;
  [[nodiscard]] std::optional<TraceNs> bubble_from(const Gap& gap, TraceNs until,
                                                   int32_t thread) const;

  const HostSide& host_;
  std::span<const LaunchCall> launches_;
  const Dependencies& dependencies_;
  const Missing& missing_;
};

}  // namespace dprof::analyzer
