// SPDX-License-Identifier: Apache-2.0
// Determines what a suspect's own delay consists of, and its cause (docs/analysis/stragglers.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/stragglers/detect.h"
#include "analyzer/stragglers/machines.h"

namespace dprof::analyzer {

struct Cause {
  std::string word;      // of docs/analysis/stragglers.md
  std::string kind;      // the dominant kind of time, as text; empty = several
  int64_t own_ns = 0;    // of that kind per step
  int64_t peers_ns = 0;  // the peers' median
  schema::Marker phase = schema::Marker::kNone;  // where to look for evidence
  double relative = 0;            // the dominant kind's excess, of the peers' time of that kind
  bool steady = false;            // the excess is at least twice its own fluctuation between steps
  bool computes = false;          // it consists of computation
  double of_all_computation = 0;  // all computation's excess, of the peers' computation
  // All computation is slower in about the same ratio: more likely a slow or shared core than extra
  // work.
  bool uniform = false;
  // Forward and backward are longer in the same ratio, but later phases are not: a larger batch, or
  // a larger stage.
  bool like_batch = false;
  // It takes longer, and nothing that was recorded says why: no clock, no limit, no more operators.
  bool only_longer = false;
  // Besides the time, its reason was recorded, too: larger batches, or page faults.
  bool observed = false;
  std::vector<std::string> reasons;  // a sentence each, with the numbers
};

// The fluctuation of computation between steps on one rank: the largest relative spread of a
// significant phase, over all ranks. 0.02 on a quiet machine, 0.3 where ranks share cores. Without
// the steps in which it was a rank's turn to be late: that is not chance.
[[nodiscard]] double fluctuation_of(const OwnWork& work, const std::vector<Turn>& turns);

struct CauseInput {
  const OwnWork& work;
  const Roles& roles;
  const std::vector<Machine>& machines;
  bool phases_marked = false;         // phases are marked on some rank: time outside them is known
  bool rank0 = false;                 // the suspect is rank 0
  bool collections_recorded = false;  // a pause without such a range was not garbage collection
};

// A lasting delay is judged by typical steps (medians, which a few disturbed steps do not move), an
// occasional one by all steps (means), a rotating one by the suspect whose turn it was.
Cause cause_of(const CauseInput& input, const Suspect& suspect);

}  // namespace dprof::analyzer
