// SPDX-License-Identifier: Apache-2.0
// Analyses each rank's memory: peaks, what was live at them, leaks, fragmentation, imbalance
// (docs/analysis/memory.md).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/memory/result.h"
#include "analyzer/steps/result.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

// nullopt: no trace has memory data; a diagnostic says why. `steps` can be null.
std::optional<Memory> memory_of(std::span<const RankDigest> digests, const Steps* steps,
                                std::vector<Diagnostic>& notes);

}  // namespace dprof::analyzer
