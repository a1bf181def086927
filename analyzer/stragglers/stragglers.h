// SPDX-License-Identifier: Apache-2.0
// From suspects to verdicts: the cost of a rank's own delay, its kind of work, and the rows that
// show it. Unknowns are reported: see docs/analysis/stragglers.md.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/breakdown/lattice.h"
#include "analyzer/breakdown/result.h"
#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/run/run.h"
#include "analyzer/steps/steps.h"
#include "analyzer/stragglers/result.h"

namespace dprof::analyzer {

class Replayer;
class WhatIfModel;
struct LinkStudy;

// The inputs to the comparison of ranks.
struct Comparison {
  std::span<const RankDigest> digests;
  std::span<const TraceFile> traces;  // by position of the digests
  const Steps& steps;
  const Matching& matching;
  std::span<const Lattice> pieces;     // by digest
  const Replayer* replayer = nullptr;  // nullptr: costs by the last rank of each step
  const LinkStudy* links = nullptr;    // groups that communicate more slowly than others
  const Overlap* overlap = nullptr;    // the hidden part of communication
  const WhatIfModel* model = nullptr;  // confirms the cost of a lasting delay
};

struct Judgement {
  std::vector<Verdict>
      verdicts;  // most expensive first; those below one percent of the step left out
  std::optional<Detection> detection;
  bool compared = false;  // otherwise the notes say why not
  // Own work beyond the median of its peers, in steps given as positions in Steps::steps.
  std::vector<size_t> steps;
  std::vector<std::vector<int64_t>> excess_ns;  // [entry of Steps::ranks][entry of `steps`]
};

// By digest: each rank's work beyond its peers; of `count` digests.
[[nodiscard]] std::vector<std::vector<OwnDelay>> own_delays_of(const Judgement& judgement,
                                                               const Steps& steps, size_t count);

// straggler_floor(), with the values of thresholds.h.
[[nodiscard]] double least_named(size_t ranks);

// Two delays that hide each other, or that follow each other in a step, cost too little each,
// though together they are worth a change. If nobody is named alone, names those lasting delays
// that cost it together, each of them certainly as much as a finding. (Beside one that is named, a
// small one can be its effect. Of two ranks only one can be slower than the other.)
void name_together(std::vector<Verdict>& verdicts, size_t ranks, int64_t median_step_ns);

// Called with each comparison before it is judged, so that it can be judged again with other
// thresholds. Only for programs that test the analysis, on one thread.
using JudgingObserver = std::function<void(const Comparison&)>;
void observe_judging(JudgingObserver observer);

// O(ranks * steps * log(ranks)) and a replay for each suspect.
Judgement judge(const Comparison& comparison, std::vector<Diagnostic>& notes);

}  // namespace dprof::analyzer
