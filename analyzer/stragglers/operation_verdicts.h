// SPDX-License-Identifier: Apache-2.0
// Finds the stages and ranks that hold up a run of whole operations.
#pragma once

#include <span>
#include <vector>

#include "analyzer/replay/operations.h"
#include "analyzer/stragglers/result.h"
#include "analyzer/stragglers/stragglers.h"

namespace dprof::analyzer {

// A stage that is too long for the others, and ranks that are slower than the others of their
// stage. Most expensive first; costs below one percent of the step are left out. `host_ranks`
// contains the ranks of the stage.
[[nodiscard]] std::vector<Verdict> operation_verdicts(const OperationRun& run,
                                                      std::span<const RankDigest> digests,
                                                      const Steps& steps);

}  // namespace dprof::analyzer
