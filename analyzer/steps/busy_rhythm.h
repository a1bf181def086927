// SPDX-License-Identifier: Apache-2.0
// Infers the steps of a rank from its busy times alone: the last resort.
#pragma once

#include <optional>
#include <vector>

#include "base/interval.h"

namespace dprof::analyzer {

// Begins of the periods of a rank's busy time. The period is the first peak of its autocorrelation;
// each begin is the end of the longest pause near its expected time. nullopt = no period with at
// least five repetitions. Resolution 1/8,192 of the span. O(n + bins log bins).
[[nodiscard]] std::optional<std::vector<TraceNs>> rhythm_of(const IntervalSet& busy);

}  // namespace dprof::analyzer
