// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/control/governor.h"

namespace dprof::recorder {

double cost_of(const CostSample& sample) {
  if (sample.wall_ns <= 0) return 0;
  return static_cast<double>(sample.hook_ns + sample.recorder_cpu_ns) /
         static_cast<double>(sample.wall_ns);
}

std::optional<wire::CaptureCause> Governor::on_sample(const CostSample& sample) {
  if (skip_) {
    skip_ = false;
    return std::nullopt;
  }
  last_.push_back(sample);
  if (last_.size() > kSamples) last_.pop_front();
  losing_ = sample.lost > 0 ? losing_ + 1 : 0;
  CostSample sum;
  for (const CostSample& one : last_) {
    sum.wall_ns += one.wall_ns;
    sum.hook_ns += one.hook_ns;
    sum.recorder_cpu_ns += one.recorder_cpu_ns;
  }
  std::optional<wire::CaptureCause> cause;
  if (losing_ >= kLosing) cause = wire::CaptureCause::kLoss;
  if (sum.wall_ns >= kLeastNs && cost_of(sum) > kEarly * limit_) {
    cause = wire::CaptureCause::kGovernor;
  }
  if (!cause) return std::nullopt;
  last_.clear();
  losing_ = 0;
  skip_ = true;
  return cause;
}

}  // namespace dprof::recorder
