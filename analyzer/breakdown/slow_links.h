// SPDX-License-Identifier: Apache-2.0
// Slow groups and the links that they have in common, from matched collectives and messages
// (docs/analysis/communication.md); and transfers that became slower within the run.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/breakdown/result.h"
#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/run/run.h"
#include "analyzer/steps/result.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

inline constexpr size_t kFewestStepsOfWindow = 4;
inline constexpr size_t kMostWindows = 12;

// Transfers of a group that became slower, and its ranks: of messages sender and receiver.
struct SlowerGroup {
  SlowTransfers transfers;
  std::vector<int> ranks;
};

struct LinkStudy {
  SlowLinks links;                  // of the report: only the most expensive of those that ...
  std::vector<SlowerGroup> slower;  // ... became slower, here all of them, most expensive first
  std::vector<std::vector<int>> unchanged;  // ranks of groups that were looked at and did not
  std::optional<SlowHost> somewhere;  // what slow groups lose where no host of theirs can be named
};

// Groups are communicators, and pairs of ranks that send each other messages; they are compared
// over windows of steady steps with those of equal function, size, number of ranks and of hosts.
// A host is named only if nothing else explains the slow groups as well.
//
// nullopt: there are neither three comparable groups nor enough steps to see a transfer become
// slower; a diagnostic says what cannot be told. `traces` by the same position as `digests`: their
// hosts. `overlap`, if there is one, tells what of a collective's excess was exposed. O(transfers
// log transfers).
std::optional<LinkStudy> slow_links_of(std::span<const RankDigest> digests,
                                       std::span<const TraceFile> traces, const Matching& matching,
                                       const Steps& steps, const Overlap* overlap,
                                       std::vector<Diagnostic>& notes);

// Where a series rises for good: the position of the first value of the higher level, if both
// levels have `fewest` values, the higher median is more than kRiseRatio times the lower
// one, and hardly a value of the one side lies among those of the other. O(n log n).
struct Rise {
  size_t at = 0;
  double before = 0;  // medians
  double after = 0;
};
[[nodiscard]] std::optional<Rise> lasting_rise(std::span<const double> series, size_t fewest);

}  // namespace dprof::analyzer
