// SPDX-License-Identifier: Apache-2.0
// Finds what a suspect's own delay consists of, and its cause (docs/analysis/stragglers.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/stragglers/detect.h"
#include "analyzer/stragglers/machines.h"

namespace dprof::analyzer {

struct Cause {
  std::string word;      // of docs/analysis/stragglers.md
  std::string kind;      // the dominant kind of time, for people; empty = several
  int64_t own_ns = 0;    // of that kind per step
  int64_t peers_ns = 0;  // the peers' median
  schema::Marker phase = schema::Marker::kNone;  // where to look for evidence
  double relative = 0;    // the dominant kind's excess, of the peers' time of that kind
  bool steady = false;    // the excess is at least twice its own fluctuation between steps
  bool computes = false;  // it consists of computation
  // All computation is slower in about the same ratio: rather a slow or shared core than other
  // work.
  bool uniform = false;
  // Forward and backward are longer in the same ratio, what follows them is not: a larger batch, or
  // a larger stage.
  bool like_batch = false;
  std::vector<std::string> reasons;  // a sentence each, with the numbers
};

// How much computation fluctuates from step to step on one rank: the largest relative spread of a
// phase that matters, over all ranks. 0.02 on a quiet machine, 0.3 where ranks share cores with
// others.
[[nodiscard]] double fluctuation_of(const OwnWork& work);

struct CauseInput {
  const OwnWork& work;
  const Roles& roles;
  const std::vector<Machine>& machines;
  bool phases_marked = false;  // somebody marked the phases: what lies outside of them is known
  bool rank0 = false;          // the suspect is rank 0
  bool collections_recorded = false;  // a pause without such a range was no garbage collection
};

// Typical steps count for what lasts (medians, which a few disturbed steps do not move), all of
// them for what comes now and then (means). Of a rotating suspect whose turn it was.
Cause cause_of(const CauseInput& input, const Suspect& suspect);

}  // namespace dprof::analyzer
