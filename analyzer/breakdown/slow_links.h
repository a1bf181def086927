// SPDX-License-Identifier: Apache-2.0
// Slow groups and the links they share, from matched collectives and messages
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

// A group's transfers that became slower, and its ranks: for messages sender and receiver.
struct SlowerGroup {
  SlowTransfers transfers;
  std::vector<int> ranks;
};

struct LinkStudy {
  SlowLinks links;                          // for the report: only the most expensive onsets
  std::vector<SlowerGroup> slower;          // all of them, the most expensive first
  std::vector<std::vector<int>> unchanged;  // ranks of the examined groups that did not
  std::optional<SlowHost> somewhere;        // the loss of slow groups if no host can be named
};

// Groups are communicators, and pairs of ranks that exchange messages; over windows of steady steps
// they are compared with groups of equal function, size, number of ranks and number of hosts. A
// host is named only if no other explains the slow groups as well.
//
// nullopt: there are neither three comparable groups nor enough steps to see a transfer become
// slower; a diagnostic says what could not be determined. `traces`, in the order of `digests`, give
// the hosts. `overlap`, if given, shows how much of a collective's excess was exposed. O(transfers
// log transfers).
std::optional<LinkStudy> slow_links_of(std::span<const RankDigest> digests,
                                       std::span<const TraceFile> traces, const Matching& matching,
                                       const Steps& steps, const Overlap* overlap,
                                       std::vector<Diagnostic>& notes);

// The permanent rise of a series: the position of the first value of the higher level, if both
// levels have `fewest` values, the higher median is more than kRiseRatio times the lower one, and
// the values of the two sides hardly overlap. O(n log n).
struct Rise {
  size_t at = 0;
  double before = 0;  // medians
  double after = 0;
};
[[nodiscard]] std::optional<Rise> lasting_rise(std::span<const double> series, size_t fewest);

}  // namespace dprof::analyzer
