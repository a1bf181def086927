// SPDX-License-Identifier: Apache-2.0
// Steps of a rank of which only the times are known at which it was busy: the last evidence.
#pragma once

#include <optional>
#include <vector>

#include "base/interval.h"

namespace dprof::analyzer {

// Begins of the periods of a rank's busy time: the period is the first peak of its autocorrelation,
// and each begin the end of the longest pause near to where it is expected. nullopt = no period of
// at least five repetitions. Resolution 1/8,192 of the span. O(n + bins log bins).
[[nodiscard]] std::optional<std::vector<TraceNs>> rhythm_of(const IntervalSet& busy);

}  // namespace dprof::analyzer
