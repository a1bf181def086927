// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/breakdown.h"

#include <fmt/format.h>

#include "analyzer/breakdown/exposure.h"
#include "analyzer/steps/device_windows.h"

namespace dprof::analyzer {
namespace {

Sums steady_total(const Steps& steps, const std::vector<Sums>& of_steps) {
  Sums total;
  for (size_t s = steps.first_steady; s <= steps.last_steady; ++s) total += of_steps[s];
  return total;
}

// Dotted keys in alphabetical order; zero parts are left out.
std::vector<std::pair<std::string, int64_t>> details_of(const Sums& total) {
  std::vector<std::pair<std::string, int64_t>> details;
  const auto note = [&](std::string key, int64_t ns) {
    if (ns > 0) details.emplace_back(std::move(key), ns);
  };
  constexpr std::pair<std::string_view, HostDetail> kKeys[] = {
      {"compute.runnable", HostDetail::kRunnable},
      {"copy.d2d", HostDetail::kDeviceToDevice},
      {"copy.d2h", HostDetail::kDeviceToHost},
      {"copy.h2d", HostDetail::kHostToDevice},
      {"copy.memset", HostDetail::kMemset},
      {"host.checkpoint", HostDetail::kCheckpoint},
      {"host.gc", HostDetail::kGc},
      {"host.logging", HostDetail::kLogging},
      {"host.optimizer", HostDetail::kOptimizer},
      {"host.preempted", HostDetail::kPreempted},
      {"host.range", HostDetail::kRange},
      {"host.unattributed", HostDetail::kUnattributed},
      {"idle.lost", HostDetail::kLost},
  };
  for (const auto& [key, detail] : kKeys) note(std::string(key), total.of(detail));
  for (const Category phase :
       {Category::kBackward, Category::kForward, Category::kOptimizer, Category::kOtherCompute}) {
    note(fmt::format("overlapped.{}", key_of(phase)),
         total.overlapped_ns[static_cast<size_t>(phase)]);
  }
  return details;
}

}  // namespace

StepSums step_sums_of(const Steps& steps, std::span<const Lattice> pieces) {
  StepSums sums;
  for (size_t r = 0; r < steps.ranks.size(); ++r)
    sums.push_back(sum_over(pieces[steps.ranks[r]], own_windows(steps.steps, r)));
  return sums;
}

Breakdown breakdown_of(std::span<const RankDigest> digests, const Steps& steps,
                       const StepSums& sums) {
  Breakdown breakdown;
  for (size_t r = 0; r < steps.ranks.size(); ++r) {
    const Sums total = steady_total(steps, sums[r]);
    breakdown.per_rank.push_back({.rank = digests[steps.ranks[r]].rank,
                                  .wall_ns = total.total(),
                                  .category_ns = total.category_ns,
                                  .detail_ns = details_of(total)});
  }
  return breakdown;
}

Overlap overlap_of(const CommunicationInput& input, const StepSums& sums) {
  const std::span<const RankDigest> digests = input.digests;
  const Steps& steps = input.steps;
  Overlap overlap;
  for (size_t s = steps.first_steady; s <= steps.last_steady; ++s) {
    StepOverlap step{.step = steps.steps[s].index, .hideable_ns = {}};
    for (const std::vector<Sums>& of_rank : sums) {
      step.hidden_ns += of_rank[s].of(Category::kOverlapped);
      step.exposed_wait_ns += of_rank[s].of(Category::kExposedWait);
      step.exposed_transfer_ns += of_rank[s].of(Category::kExposedTransfer);
    }
    step.communication_ns = step.hidden_ns + step.exposed_wait_ns + step.exposed_transfer_ns;
    overlap.per_step.push_back(step);
  }
  for (size_t r = 0; r < steps.ranks.size(); ++r) {
    const Sums total = steady_total(steps, sums[r]);
    RankOverlap one{.rank = digests[steps.ranks[r]].rank,
                    .hidden_ns = total.of(Category::kOverlapped),
                    .exposed_wait_ns = total.of(Category::kExposedWait),
                    .exposed_transfer_ns = total.of(Category::kExposedTransfer),
                    .ratio = {},
                    .hideable_ns = {},
                    .best_ratio = {}};
    one.communication_ns = one.hidden_ns + one.exposed_wait_ns + one.exposed_transfer_ns;
    if (one.communication_ns > 0) {
      one.ratio = static_cast<double>(one.hidden_ns) / static_cast<double>(one.communication_ns);
    }
    overlap.per_rank.push_back(one);
  }
  add_exposure(input, overlap);
  return overlap;
}

}  // namespace dprof::analyzer
