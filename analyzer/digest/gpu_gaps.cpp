// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/gpu_gaps.h"

#include <algorithm>

namespace dprof::analyzer {
namespace {

// Gaps between queued activities: the launch overhead on the device.
constexpr int64_t kLaunchGapNs = 10'000;
// Possible difference between the host's and the device's time of one event.
constexpr DurationNs kNearGap{10'000};

bool touches(const IntervalSet& set, Interval span) {
  const auto next = std::ranges::upper_bound(set, span.begin, {}, &Interval::end);
  return next != set.end() && next->begin < span.end;
}

// A canonical set's value at a moment, and when it next changes.
struct Covered {
  bool inside = false;
  TraceNs until{INT64_MAX};
};

Covered covered(const IntervalSet& set, TraceNs at) {
  const auto next = std::ranges::upper_bound(set, at, {}, &Interval::end);
  if (next == set.end()) return {};
  if (next->begin <= at) return {true, next->end};
  return {false, next->begin};
}

struct Said {
  Category category;
  HostDetail detail = HostDetail::kNone;
};

Said category_of(HostClass what) {
  switch (what) {
    case HostClass::kInput:
      return {Category::kInputWait};
    case HostClass::kAllocation:
      return {Category::kAllocator};
    case HostClass::kCollectiveWait:
      return {Category::kExposedWait};
    case HostClass::kCheckpoint:
      return {Category::kHost, HostDetail::kCheckpoint};
    case HostClass::kOptimizer:
      return {Category::kHost, HostDetail::kOptimizer};
    case HostClass::kLogging:
      return {Category::kHost, HostDetail::kLogging};
    case HostClass::kGc:
      return {Category::kHost, HostDetail::kGc};
    case HostClass::kRange:
      return {Category::kHost, HostDetail::kRange};
    case HostClass::kNone:
      break;
  }
  return {Category::kHost, HostDetail::kUnattributed};
}

}  // namespace

Dependencies::Dependencies(std::vector<std::vector<StreamWait>> waits, const Activities& activities,
                           std::span<const LaunchCall> launches)
    : waits_(std::move(waits)) {
  if (std::ranges::all_of(waits_, [](const auto& of_stream) { return of_stream.empty(); })) {
    waits_.clear();
    return;
  }
  for (auto& of_stream : waits_) std::ranges::stable_sort(of_stream, {}, &StreamWait::called);
  of_stream_.resize(activities.streams.size());
  for (const auto& [device, list] : activities.by_device) {
    for (const Activity& activity : list) {
      const TraceNs at = activity.launch == kNoRange
                             ? activity.begin
                             : launches[static_cast<size_t>(activity.launch)].at;
      of_stream_[activity.stream].push_back({at, activity.end});
    }
  }
  for (auto& of_stream : of_stream_) std::ranges::stable_sort(of_stream, {}, &Launched::at);
}

std::span<const StreamWait> Dependencies::waits_before(const Activity& activity,
                                                       TraceNs launched) const {
  if (activity.stream >= waits_.size()) return {};
  const auto& own = of_stream_[activity.stream];
  const auto self = std::ranges::lower_bound(own, launched, {}, &Launched::at);
  const TraceNs before = self == own.begin() ? TraceNs{INT64_MIN} : std::prev(self)->at;
  const auto& waits = waits_[activity.stream];
  const auto first = std::ranges::upper_bound(waits, before, {}, &StreamWait::called);
  const auto last = std::ranges::upper_bound(waits, launched, {}, &StreamWait::called);
  return {first, last};
}

bool Dependencies::waited(const Activity& activity, TraceNs launched, TraceNs from,
                          TraceNs to) const {
  return std::ranges::any_of(waits_before(activity, launched), [&](const StreamWait& wait) {
    if (wait.source >= of_stream_.size()) return false;
    const auto& source = of_stream_[wait.source];
    const auto after = std::ranges::upper_bound(source, wait.recorded, {}, &Launched::at);
    if (after == source.begin()) return false;
    const TraceNs end = std::prev(after)->end;
    return end >= from && end < to;
  });
}

bool Dependencies::waited_since(const Activity& activity, TraceNs launched, TraceNs since) const {
  return std::ranges::any_of(waits_before(activity, launched), [&](const StreamWait& wait) {
    return wait.source == kUnknownStream || wait.recorded >= since;
  });
}

void GapClassifier::classify(const Gap& gap, const Say& say) const {
  if (touches(missing_.gpu, gap.span)) {
    say(gap.span.begin, Category::kIdle, HostDetail::kLost);
    return;
  }
  const bool linked = gap.closed_by != nullptr && gap.closed_by->launch != kNoRange;
  if (!linked && gap.closed_by != nullptr) {
    // Without the launch, the host's state is unknown.
    const bool is_short = gap.span.length().ns < kLaunchGapNs;
    say(gap.span.begin, is_short ? Category::kLaunch : Category::kIdle, HostDetail::kNone);
    return;
  }
  if (!linked) {
    const int32_t thread =
        gap.thread_before != kNoRange ? gap.thread_before : host_.training_thread();
    starve(gap, gap.span.end, thread, say);
    return;
  }
  const LaunchCall& launch = launches_[static_cast<size_t>(gap.closed_by->launch)];
  if (launch.at > gap.span.begin) {
    const TraceNs called = std::min(launch.at, gap.span.end);
    starve(gap, called, launch.thread, say);
    if (called < gap.span.end) say(called, Category::kLaunch, HostDetail::kNone);
    return;
  }
  const TraceNs from = gap.span.begin - kNearGap;
  if (dependencies_.waited(*gap.closed_by, launch.at, from, gap.span.end)) {
    say(gap.span.begin, Category::kDependency, HostDetail::kNone);
  } else if (gap.span.length().ns < kLaunchGapNs) {
    say(gap.span.begin, Category::kLaunch, HostDetail::kNone);
  } else {
    say(gap.span.begin, Category::kIdle, HostDetail::kNone);
  }
}

// A blocking call for the device leaves it without work: the call was running when the device
// became idle, and ended before the next launch.
std::optional<TraceNs> GapClassifier::bubble_from(const Gap& gap, TraceNs until,
                                                  int32_t thread) const {
  if (thread == kNoRange || gap.closed_by == nullptr) return std::nullopt;
  const IntervalSet& calls = host_.thread(thread).blocking;
  const TraceNs near = gap.span.begin - kNearGap;
  const auto call = std::ranges::lower_bound(calls, near, {}, &Interval::end);
  if (call == calls.end() || call->end >= until) return std::nullopt;
  if (call->begin > gap.span.begin + kNearGap) return std::nullopt;
  return std::max(call->begin, gap.span.begin);
}

void GapClassifier::starve(const Gap& gap, TraceNs until, int32_t thread, const Say& say) const {
  if (thread == kNoRange) {
    say(gap.span.begin, Category::kIdle, HostDetail::kNone);
    return;
  }
  const HostThread& own = host_.thread(thread);
  // An idle launching thread was waiting for another one: the autograd engine for the training
  // thread, or vice versa.
  int32_t other = gap.thread_before;
  if (other == kNoRange || other == thread) other = host_.training_thread();
  const HostThread& behind = host_.thread(other);
  std::optional<TraceNs> bubble = bubble_from(gap, until, thread);
  if (!bubble) bubble = bubble_from(gap, until, gap.thread_before);
  const bool lost_rows = touches(missing_.host, gap.span);

  for (TraceNs at = gap.span.begin; at < until;) {
    HostState state = own.state_at(at);
    TraceNs end = std::min(own.next_change(at), until);
    const auto cut = [&](TraceNs border) {
      if (border > at) end = std::min(end, border);
    };
    const HostThread* acting = &own;
    if (state.what == HostClass::kNone ||
        (state.what == HostClass::kRange && state.phase == schema::Marker::kBackward)) {
      const HostState theirs = behind.state_at(at);
      cut(behind.next_change(at));
      if (theirs.what != HostClass::kNone) {
        state = theirs;
        acting = &behind;
      }
    }
    const Covered profiler = covered(own.profiler, at);
    const Covered input = covered(own.input, at);
    const Covered allocation = covered(acting->allocations, at);
    cut(profiler.until);
    cut(input.until);
    cut(allocation.until);
    if (bubble) cut(*bubble);
    Said said = category_of(state.what);
    if (profiler.inside) {
      said = {Category::kProfiler};
    } else if (input.inside || state.what == HostClass::kInput) {
      said = {Category::kInputWait};
    } else if (bubble && at >= *bubble) {
      said = {Category::kSyncBubble};
    } else if (allocation.inside) {
      said = {Category::kAllocator};
    } else if (lost_rows && said.detail == HostDetail::kUnattributed) {
      said = {Category::kIdle, HostDetail::kLost};
    }
    say(at, said.category, said.detail);
    at = end;
  }
}

}  // namespace dprof::analyzer
