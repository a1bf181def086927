// SPDX-License-Identifier: Apache-2.0
// Brings the clocks of all hosts onto one axis, with a bound (analysis.md section 1).
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
#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/report/report.h"
#include "analyzer/run.h"

namespace dprof::analyzer {

struct Alignment {
  Clock clock;                 // for the report
  std::vector<ClockMap> maps;  // by digest: from its times before put_on_axis to the axis
  bool aligned = true;         // every digest has a bound: times can be compared across ranks
  std::vector<Diagnostic> diagnostics;

  // Which clock each digest has; empty = one each. Where a clock has several recorders, which of
  // them and how well that is tied to the others.
  std::vector<size_t> clock_of;
  std::vector<int64_t> recorder_of;
  std::vector<int64_t> recorder_bound_ns;

  // What a difference of times of two ranks can be wrong by; nullopt = unknown, 0 = they have one
  // clock. The times are on the axis.
  [[nodiscard]] std::optional<int64_t> bound_between(size_t digest, TraceNs at, size_t other,
                                                     TraceNs other_at) const;
};

// What is known of a clock beyond the digests: the evidence of traces that are not analysed.
struct ClockWitness {
  std::string clock_id;
  ClockEvidence evidence;
};

// The reference is the clock of the first trace. Needs no times in `matching`: it tells which
// records belong together. O(probes + members of all collectives).
Alignment align_clocks(std::span<const TraceFile> traces, std::span<const RankDigest> digests,
                       const Matching& matching, std::span<const ClockWitness> witnesses = {});

// Reads the clock evidence of traces; those that cannot be read, or have none, are passed over.
[[nodiscard]] std::vector<ClockWitness> clock_witnesses(std::span<const TraceFile> traces);

// Translates every time in the digests; those of the reference's host stay as they are. What a
// trace told about its clock (RankDigest::clock) stays in the trace's time.
void put_on_axis(const Alignment& alignment, std::span<RankDigest> digests);

}  // namespace dprof::analyzer
