// SPDX-License-Identifier: Apache-2.0
// Finds where a sequence of tokens repeats: the steps of one rank.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/steps/ngrams.h"
#include "base/time.h"

namespace dprof::analyzer {

// Invariant  `begins` is ascending; tokens from begins[i] up to begins[i + 1] belong to step i.
struct Period {
  size_t tokens = 0;           // per step, without inserted ones
  std::vector<size_t> begins;  // positions of the first token of each step
};

// Finds the period of `tokens` and each of its begins: after the longest pause of a step. Inserted
// tokens (a log, a validation) do not shift the following begins: each is found by its own
// recurrence. nullopt = nothing repeats at a regular distance. `times` are those of the tokens,
// ascending. O(8 N) hashing; memory O(N).
[[nodiscard]] std::optional<Period> find_period(std::span<const uint32_t> tokens,
                                                std::span<const TraceNs> times);

// True if these moments are as regular as steps: the coefficient of variation of their distances,
// without the first three and outliers beyond 3 MADn, is below 0.5.
[[nodiscard]] bool is_steady(std::span<const TraceNs> begins);

}  // namespace dprof::analyzer
