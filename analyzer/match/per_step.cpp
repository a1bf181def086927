// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/per_step.h"

#include <algorithm>

namespace dprof::analyzer {

SteadySteps::SteadySteps(const std::optional<Steps>& steps, size_t digests)
    : steps_(steps ? &*steps : nullptr), rank_of_(digests) {
  if (steps_ == nullptr) return;
  for (size_t r = 0; r < steps_->ranks.size(); ++r) rank_of_[steps_->ranks[r]] = r;
}

std::optional<size_t> SteadySteps::step_at(size_t digest, TraceNs time) const {
  if (!has_rank(digest)) return std::nullopt;
  const size_t rank = *rank_of_[digest];
  const std::span<const AlignedStep> steady = steps_->steady();
  const auto next = std::ranges::upper_bound(
      steady, time, {}, [&](const AlignedStep& step) { return step.windows[rank].begin; });
  if (next == steady.begin() || time >= std::prev(next)->windows[rank].end) return std::nullopt;
  return static_cast<size_t>(next - steady.begin()) - 1;
}

std::optional<double> StepCount::median_of(size_t steady) const {
  if (steady == 0) return std::nullopt;
  std::vector<int64_t> counts;
  for (const auto& [step, count] : in_step_) counts.push_back(count);
  std::ranges::sort(counts);
  const size_t without = steady - std::min(steady, counts.size());
  const auto at = [&](size_t i) {
    return i < without ? 0.0 : static_cast<double>(counts[i - without]);
  };
  return steady % 2 == 1 ? at(steady / 2) : (at(steady / 2 - 1) + at(steady / 2)) / 2;
}

}  // namespace dprof::analyzer
