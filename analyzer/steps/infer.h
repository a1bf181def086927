// SPDX-License-Identifier: Apache-2.0
// Infers the steps of ranks without marked steps from repetition (docs/analysis/steps.md).
#pragma once

#include <span>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"

namespace dprof::analyzer {

// Fills `steps` and `step_source` of digests without steps. Reports in `diagnostics` what was
// inferred, or why nothing could be.
void infer_steps(std::span<RankDigest> digests, const Matching& matching,
                 std::vector<Diagnostic>& diagnostics);

}  // namespace dprof::analyzer
