// SPDX-License-Identifier: Apache-2.0
// From suspects to verdicts: what a rank's own delay costs the run, what kind of work it is, and
// the rows that show it. What cannot be known is said: see docs/analysis/stragglers.md.
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

// What the comparison of ranks rests on. `pieces`: the lattice of each entry of steps.ranks.
struct Comparison {
  std::span<const RankDigest> digests;
  std::span<const TraceFile> traces;  // by position of the digests
  const Steps& steps;
  const Matching& matching;
  std::span<const std::span<const LatticePiece>> pieces;
  const Replayer* replayer = nullptr;  // nullptr: costs by the rank that is last in each step
  const LinkStudy* links = nullptr;    // groups that communicate slower than others
  const Overlap* overlap = nullptr;    // what of communication was hidden
  const WhatIfModel* model = nullptr;  // confirms what a lasting delay costs
};

struct Judgement {
  std::vector<Verdict>
      verdicts;  // most expensive first; those below one percent of the step left out
  std::optional<Detection> detection;
  bool compared = false;  // else the notes say why not
  // Own work beyond the median of its peers, in steps that are positions in Steps::steps.
  std::vector<size_t> steps;
  std::vector<std::vector<int64_t>> excess_ns;  // [entry of Steps::ranks][entry of `steps`]
};

// By digest, what each rank worked beyond its peers; of `count` digests.
[[nodiscard]] std::vector<std::vector<OwnDelay>> own_delays_of(const Judgement& judgement,
                                                               const Steps& steps, size_t count);

// straggler_floor(), as far as thresholds.h has it.
[[nodiscard]] double least_named(size_t ranks);

// Called with each comparison before it is judged: whoever varies thresholds judges it again. Only
// for programs that test the analysis, on one thread.
using JudgingObserver = std::function<void(const Comparison&)>;
void observe_judging(JudgingObserver observer);

// O(ranks * steps * log(ranks)) and a replay for each suspect.
Judgement judge(const Comparison& comparison, std::vector<Diagnostic>& notes);

}  // namespace dprof::analyzer
