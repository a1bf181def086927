// SPDX-License-Identifier: Apache-2.0
// Matched collectives as the report and the timeline show them.
#pragma once

#include "analyzer/breakdown/matched.h"
#include "analyzer/breakdown/result.h"
#include "analyzer/match/match.h"
#include "analyzer/steps/per_step.h"

namespace dprof::analyzer {

// One entry per (communicator, function, bytes), sorted by these. Only comparable instances count.
std::vector<CollectiveSummary> summarise(std::span<const RankDigest> digests,
                                         const Matching& matching, const StepsByTime& steps);

// One entry per (communicator, from, to, bytes), sorted by these; all messages count.
std::vector<PointToPoint> summarise_messages(std::span<const RankDigest> digests,
                                             const Matching& matching, const StepsByTime& steps);

// Every instance, including those that never finished.
std::vector<MatchedCollective> matched_collectives(std::span<const RankDigest> digests,
                                                   const Matching& matching);

// Every message, including those that only one side recorded.
std::vector<MatchedMessage> matched_messages(std::span<const RankDigest> digests,
                                             const Matching& matching);

// Describes what could not be matched; empty if everything was.
std::vector<Diagnostic> match_diagnostics(std::span<const RankDigest> digests,
                                          const Matching& matching);

}  // namespace dprof::analyzer
