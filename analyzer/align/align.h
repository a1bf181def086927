// SPDX-License-Identifier: Apache-2.0
// Brings the clocks of all hosts onto one axis, with a bound (docs/analysis/clocks.md).
//
// Threading  one thread.
// Units      ns. The axis is the reference's time. Before alignment, other clocks are placed on it
//            by their wall clocks (TraceFile::shift_ns); offsets are relative to that.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/align/clock_map.h"
#include "analyzer/align/result.h"
#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/run/run.h"

namespace dprof::analyzer {

// Evidence about a clock from traces that are not analysed.
struct ClockWitness {
  std::string clock_id;
  ClockEvidence evidence;
};

// The reference is the clock of the first trace. Uses only the pairing in `matching`, not its
// times. O(probes + members of all collectives).
Alignment align_clocks(std::span<const TraceFile> traces, std::span<const RankDigest> digests,
                       const Matching& matching, std::span<const ClockWitness> witnesses = {});

// Evidence from traces of the run that are not analysed. Unreadable traces, and those without
// evidence, are skipped.
[[nodiscard]] std::vector<ClockWitness> clock_witnesses(const Run& run,
                                                        std::span<const TraceFile> analysed);

// Translates every time in the digests to the axis; times of the reference's host do not change.
// RankDigest::clock stays in the trace's own time.
void put_on_axis(const Alignment& alignment, std::span<RankDigest> digests);

}  // namespace dprof::analyzer
