// SPDX-License-Identifier: Apache-2.0
// Where one rank's steps begin, by what it did, in the order of evidence of docs/analysis/steps.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

struct StepBegins {
  std::string by;               // "order of collectives": what they were found from
  size_t tokens = 0;            // per step; 0 = not found from tokens
  std::vector<TraceNs> begins;  // ascending
  // They are where something recurs in the middle of a step, not where the step begins.
  bool within_steps = false;
};

struct BeginsFound {
  std::optional<StepBegins> begins;
  std::string unsteady;  // what repeated, but not evenly in time; "" = nothing
};

// Tries, in this order: DDP's forward after a collective, DDP's first bucket, the order of
// collectives, that of operators, of kernels, and the rhythm of the GPU's busy time.
[[nodiscard]] BeginsFound find_begins(const RankDigest& digest);

}  // namespace dprof::analyzer
