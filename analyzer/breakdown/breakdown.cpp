// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/breakdown.h"

#include <fmt/format.h>

namespace dprof::analyzer {
namespace {

Sums steady_total(const Steps& steps, const std::vector<Sums>& of_steps) {
  Sums total;
  for (size_t s = steps.first_steady; s <= steps.last_steady; ++s) total += of_steps[s];
  return total;
}

// Dotted keys in order of the alphabet; parts that are 0 are left out.
std::vector<std::pair<std::string, int64_t>> details_of(const Sums& total) {
  std::vector<std::pair<std::string, int64_t>> details;
  const auto note = [&](std::string key, int64_t ns) {
    if (ns > 0) details.emplace_back(std::move(key), ns);
  };
  note("host.checkpoint", total.of(HostDetail::kCheckpoint));
  note("host.range", total.of(HostDetail::kRange));
  note("host.unattributed", total.of(HostDetail::kUnattributed));
  for (const Category phase :
       {Category::kBackward, Category::kForward, Category::kOptimizer, Category::kOtherCompute}) {
    note(fmt::format("overlapped.{}", key_of(phase)),
         total.overlapped_ns[static_cast<size_t>(phase)]);
  }
  return details;
}

}  // namespace

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

Overlap overlap_of(std::span<const RankDigest> digests, const Steps& steps, const StepSums& sums) {
  Overlap overlap;
  for (size_t r = 0; r < steps.ranks.size(); ++r) {
    const Sums total = steady_total(steps, sums[r]);
    RankOverlap one{.rank = digests[steps.ranks[r]].rank,
                    .hidden_ns = total.of(Category::kOverlapped),
                    .exposed_wait_ns = total.of(Category::kExposedWait),
                    .exposed_transfer_ns = total.of(Category::kExposedTransfer)};
    one.communication_ns = one.hidden_ns + one.exposed_wait_ns + one.exposed_transfer_ns;
    overlap.per_rank.push_back(one);
  }
  return overlap;
}

}  // namespace dprof::analyzer
