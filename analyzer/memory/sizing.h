// SPDX-License-Identifier: Apache-2.0
// Ranks against each other, and what dividing or computing again would free
// (docs/analysis/memory.md).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/memory/result.h"

namespace dprof::analyzer {

// Over devices where any rank has one, else over host memory. nullopt = fewer than two ranks whose
// peak is known.
[[nodiscard]] std::optional<MemoryImbalance> imbalance_of(std::span<const RankMemory> per_rank);

// Of the rank with the largest peak whose contents are known; it reduces its gradients among the
// ranks to divide among. nullopt = nothing known, or no such communicator.
[[nodiscard]] std::optional<ZeroSizing> zero_sizing_of(std::span<const RankDigest> digests,
                                                       std::span<const RankMemory> per_rank);

[[nodiscard]] std::optional<CheckpointingSizing> checkpointing_sizing_of(
    std::span<const RankMemory> per_rank);

}  // namespace dprof::analyzer
