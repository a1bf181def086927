// SPDX-License-Identifier: Apache-2.0
// Brings the clocks of all hosts onto one axis, with a bound (docs/analysis/clocks.md).
//
// Threading  one thread.
// Units      ns. The axis is the reference's time; other clocks are before alignment placed on it
//            by their wall clocks (TraceFile::shift_ns), and offsets are from there.
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

// What is known of a clock beyond the digests: the evidence of traces that are not analysed.
struct ClockWitness {
  std::string clock_id;
  ClockEvidence evidence;
};

// The reference is the clock of the first trace. Needs no times in `matching`: it tells which
// records belong together. O(probes + members of all collectives).
Alignment align_clocks(std::span<const TraceFile> traces, std::span<const RankDigest> digests,
                       const Matching& matching, std::span<const ClockWitness> witnesses = {});

// Traces of the run that are not analysed tell of the clocks, too. Those that cannot be read, or
// have no evidence, are passed over.
[[nodiscard]] std::vector<ClockWitness> clock_witnesses(const Run& run,
                                                        std::span<const TraceFile> analysed);

// Translates every time in the digests; those of the reference's host stay as they are. What a
// trace told about its clock (RankDigest::clock) stays in the trace's time.
void put_on_axis(const Alignment& alignment, std::span<RankDigest> digests);

}  // namespace dprof::analyzer
