// SPDX-License-Identifier: Apache-2.0
// The phases that the program marked, by name: how often they occur in a step, and for how long.
// Unlike the breakdown they can nest and need not cover the step.
#pragma once

#include <span>
#include <vector>

#include "analyzer/breakdown/result.h"
#include "analyzer/digest/digest.h"
#include "analyzer/steps/result.h"
#include "analyzer/steps/steps.h"
#include "analyzer/vocabulary/diagnostic.h"

namespace dprof::analyzer {

inline constexpr size_t kMostPhaseNames = 64;

// Over the steady steps; phases in order of their first appearance, rank by rank. `diagnostics`
// reports names left out beyond the limit.
std::vector<PhaseSummary> phases_of(std::span<const RankDigest> digests, const Steps& steps,
                                    std::vector<Diagnostic>& diagnostics);

}  // namespace dprof::analyzer
