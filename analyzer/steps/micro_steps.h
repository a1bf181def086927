// SPDX-License-Identifier: Apache-2.0
// How many forwards and backwards a step accumulates.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analyzer/steps/result.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

// The usual number of micro-steps in a steady step: by ranges named micro_step, else by forwards
// and backwards that come in equal number, else by collectives that repeat within the step. nullopt
// = none of these tells. O(phases + collectives of one rank).
[[nodiscard]] std::optional<int64_t> micro_steps_of(std::span<const RankDigest> digests,
                                                    const Steps& steps);

}  // namespace dprof::analyzer
