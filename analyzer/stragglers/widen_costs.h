// SPDX-License-Identifier: Apache-2.0
// What the replay's own error means for the costs that come from it.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/replay/result.h"
#include "analyzer/stragglers/result.h"

namespace dprof::analyzer {

// Costs can be wrong by what the replay of the run itself is: their bound grows by it. Where the
// replay was refused, so that it could not be told, their confidence is halved as well.
void widen_costs(const Replay& replay, int64_t median_step_ns, std::vector<Verdict>& verdicts);

}  // namespace dprof::analyzer
