// SPDX-License-Identifier: Apache-2.0
// From suspects to verdicts: what a rank's own delay costs the run, what kind of work it is, and
// the rows that show it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/stragglers/detect.h"

namespace dprof::analyzer {

struct Verdict {
  Straggler straggler;        // as in the report
  bool named = false;         // costs enough to be called a culprit; else worth a line
  double share_of_steps = 0;  // in which it shows
  int64_t step_ns = 0;        // replayed step without it
  // Of what its delay consists: own time of that kind per step where it shows, and the peers'
  // median.
  std::string kind;  // "input wait", "backward", …; empty = several
  int64_t kind_ns = 0;
  int64_t peers_kind_ns = 0;
};

// What the comparison of ranks rests on; all refer to the same steps.
struct Comparison {
  std::span<const RankDigest> digests;
  const Steps& steps;
  const Matching& matching;
  const std::vector<Meeting>& meetings;
  const OwnWork& work;
};

// Verdicts, dearest first; those that cost less than one percent of the median step are left out.
std::vector<Verdict> judge(const Comparison& comparison);

}  // namespace dprof::analyzer
