// SPDX-License-Identifier: Apache-2.0
// What kind of work a rank's own delay consists of (analysis.md 6.4).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/stragglers/segments.h"

namespace dprof::analyzer {

struct Cause {
  std::string word;      // of architecture 4.2
  std::string kind;      // the dominant kind of time, for people; empty = several
  int64_t own_ns = 0;    // of that kind per step
  int64_t peers_ns = 0;  // the peers' median
  schema::Marker phase = schema::Marker::kNone;  // where to look for evidence
  double relative = 0;  // the dominant kind's excess, of the peers' time of that kind
  bool steady = false;  // the excess is at least twice its own fluctuation between steps
  // All computation is slower in about the same ratio: rather a slow or shared core than other
  // work.
  bool uniform = false;
};

// Typical steps count for what lasts (medians, which a few disturbed steps do not move), all of
// them for what comes now and then (means).
enum class Over : uint8_t { kTypical, kAll };

// How much computation fluctuates from step to step on one rank: the largest relative spread of a
// phase that matters, over all ranks. 0.02 on a quiet machine, 0.3 where ranks share cores with
// others.
[[nodiscard]] double fluctuation_of(const OwnWork& work);

// `when`: entries of work.steps in which the delay shows. `rank` nullopt: the slowest rank of each
// step.
Cause cause_of(const OwnWork& work, std::optional<size_t> rank, const std::vector<size_t>& when,
               Over over);

}  // namespace dprof::analyzer
