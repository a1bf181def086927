// SPDX-License-Identifier: Apache-2.0
// Finds the steps of ranks that marked none, from what repeats (docs/analysis/steps.md).
#pragma once

#include <span>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"

namespace dprof::analyzer {

// Fills `steps` and `step_source` of digests that have none. Says in `diagnostics` what was
// inferred, or why it could not be.
void infer_steps(std::span<RankDigest> digests, const Matching& matching,
                 std::vector<Diagnostic>& diagnostics);

}  // namespace dprof::analyzer
