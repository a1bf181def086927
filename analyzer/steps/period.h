// SPDX-License-Identifier: Apache-2.0
// Finds where a sequence of tokens repeats: the steps of one rank.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/steps/ngrams.h"
#include "base/time.h"

namespace dprof::analyzer {

// Invariant  `begins` is ascending; a token between begins[i] and begins[i + 1] is of step i.
struct Period {
  size_t tokens = 0;           // of a step, without what was inserted
  std::vector<size_t> begins;  // positions of the first token of each step
};

// Finds the period of `tokens` and where each begins: after the longest pause of a step. What was
// inserted (a log, a validation) does not shift what follows: every begin is a recurrence of its
// own. nullopt = nothing repeats at a regular distance. `times` are those of the tokens, ascending.
// O(8 N) hashing; memory O(N).
[[nodiscard]] std::optional<Period> find_period(std::span<const uint32_t> tokens,
                                                std::span<const TraceNs> times);

// Whether times at these moments are as regular as steps are: the coefficient of variation of their
// distances, without the first three and outliers beyond 3 MADn, is below 0.5.
[[nodiscard]] bool is_steady(std::span<const TraceNs> begins);

}  // namespace dprof::analyzer
