// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/gpu_held_back.h"

#include <algorithm>

namespace dprof::analyzer {
namespace {

// The collective's end and the held-back begin are at most this far apart. Work that began within
// it after it was ready was not held back: a launch on the device takes some us.
constexpr DurationNs kNearHold{10'000};

class Search {
 public:
  Search(std::span<const LaunchCall> launches, const Dependencies& dependencies)
      : launches_(launches), dependencies_(dependencies) {}

  std::vector<HeldBack> run(std::span<const Activity> activities) {
    for (const Activity& activity : activities) {
      if (activity.what == ActivityClass::kCompute) judge(activity);
      see(activity);
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] TraceNs launch_of(const Activity& activity) const {
    return launches_[static_cast<size_t>(activity.launch)].at;
  }

  void judge(const Activity& activity) {
    if (!collective_ || activity.launch == kNoRange || activity.stream == collective_->stream)
      return;
    const TraceNs launched = launch_of(activity);
    const TraceNs called = launch_of(*collective_);
    if (launched <= called) return;  // it was ahead of the collective in every queue
    const TraceNs ended = collective_->end;
    if (ended > activity.begin || ended + kNearHold < activity.begin) return;
    // Other work can have occupied the device exclusively, or been waited for.
    const TraceNs from = std::max({launched, others_end_, collective_->begin});
    if (activity.begin - kNearHold <= from) return;
    if (!dependencies_.knows(collective_->stream) ||
        dependencies_.waited_since(activity, launched, called))
      return;
    found_.push_back({from, activity.begin, collective_->subject});
  }

  void see(const Activity& activity) {
    if (activity.what != ActivityClass::kCommunication) {
      others_end_ = std::max(others_end_, activity.end);
    } else if (activity.launch != kNoRange && activity.subject != kNoCollective &&
               (!collective_ || activity.end >= collective_->end)) {
      collective_ = activity;
    }
  }

  std::span<const LaunchCall> launches_;
  const Dependencies& dependencies_;
  std::optional<Activity> collective_;  // the collective that ends last, of those begun
  TraceNs others_end_{INT64_MIN / 2};   // of computation and copies already begun
  std::vector<HeldBack> found_;
};

}  // namespace

std::vector<HeldBack> held_back_in(std::span<const Activity> activities,
                                   std::span<const LaunchCall> launches,
                                   const Dependencies& dependencies) {
  return Search(launches, dependencies).run(activities);
}

}  // namespace dprof::analyzer
