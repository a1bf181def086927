// SPDX-License-Identifier: Apache-2.0
// Moves the begins of inferred steps from where they were recognised (the first collective of a
// backward, say) to where the training thread had finished the step before.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

// A step begins where the longest time begins in which the training thread does nothing that was
// recorded, between the backward of the step before and its own: after the optimizer, before the
// batch. One per begin. nullopt = the rank's operators were not recorded, or that place is not the
// same in most steps.
[[nodiscard]] std::optional<std::vector<TraceNs>> quiet_starts(const RankDigest& digest,
                                                               std::span<const TraceNs> begins);

}  // namespace dprof::analyzer
