// SPDX-License-Identifier: Apache-2.0
// What is known of a run long before its report: for people who wait for that.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/breakdown/lattice.h"
#include "analyzer/match/match.h"
#include "analyzer/report/report.h"
#include "analyzer/run/run.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

// Preliminary: nothing is replayed yet, so there are neither costs nor causes, and the report can
// name other ranks.
struct FirstLook {
  struct SlowRank {
    int rank = 0;
    std::string host;
    int64_t own_delay_ns = 0;  // own work beyond the median of its peers, mean per steady step
  };
  static constexpr size_t kMostSlow = 5;

  int64_t ranks = 0;
  std::optional<StepsInfo> steps;  // nullopt = none were found
  // Those whose delay is larger than chance, the largest first; nullopt = not compared.
  std::optional<std::vector<SlowRank>> slow;
};
using FirstLookTaken = std::function<void(const FirstLook&)>;

// `pieces`: the lattice of each digest. `steps`: nullptr = none were found.
// O(pieces + steps * ranks * log(ranks)).
[[nodiscard]] FirstLook first_look_of(const RunInfo& run, std::span<const RankDigest> digests,
                                      std::span<const TraceFile> traces, const Steps* steps,
                                      const Matching& matching, std::span<const Lattice> pieces);

}  // namespace dprof::analyzer
