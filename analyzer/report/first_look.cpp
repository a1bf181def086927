// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/first_look.h"

#include <algorithm>
#include <numeric>

#include "analyzer/stragglers/detect.h"
#include "analyzer/stragglers/roles.h"

namespace dprof::analyzer {
namespace {

std::optional<std::vector<FirstLook::SlowRank>> slow_ranks(std::span<const RankDigest> digests,
                                                           std::span<const TraceFile> traces,
                                                           const Steps& steps,
                                                           const Matching& matching,
                                                           std::span<const Lattice> pieces) {
  const bool operations =
      std::ranges::any_of(steps.ranks, [&](size_t d) { return digests[d].operations; });
  if (steps.ranks.size() < 2 || operations) return std::nullopt;
  const auto [work, roles] = compared_work(digests, steps, matching, pieces);
  if (work.steps.size() < kLeastSteps || roles.sets.empty()) return std::nullopt;
  const Excess excess = excess_of(work, roles);
  const double floor_ns = scale_of(work, roles, excess, steps.info.median_ns).floor_ns;
  std::vector<FirstLook::SlowRank> slow;
  for (size_t r = 0; r < excess.total.size(); ++r) {
    const Series& ns = excess.total[r];
    if (ns.empty()) continue;
    const int64_t mean =
        std::accumulate(ns.begin(), ns.end(), int64_t{0}) / static_cast<int64_t>(ns.size());
    if (static_cast<double>(mean) < floor_ns || mean <= 0) continue;
    const size_t d = steps.ranks[r];
    slow.push_back({digests[d].rank, d < traces.size() ? traces[d].host : std::string(), mean});
  }
  std::ranges::stable_sort(slow, std::greater{}, &FirstLook::SlowRank::own_delay_ns);
  if (slow.size() > FirstLook::kMostSlow) slow.resize(FirstLook::kMostSlow);
  return slow;
}

}  // namespace

FirstLook first_look_of(const RunInfo& run, std::span<const RankDigest> digests,
                        std::span<const TraceFile> traces, const Steps* steps,
                        const Matching& matching, std::span<const Lattice> pieces) {
  FirstLook look{.ranks = run.ranks, .steps = run.steps, .slow = {}};
  if (steps != nullptr) look.slow = slow_ranks(digests, traces, *steps, matching, pieces);
  return look;
}

}  // namespace dprof::analyzer
