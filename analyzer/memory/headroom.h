// SPDX-License-Identifier: Apache-2.0
// How much of each device is left, and how fragmented what is taken (docs/analysis/memory.md and
// 8.4).
#pragma once

#include <span>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/memory/result.h"
#include "analyzer/memory/timeline.h"

namespace dprof::analyzer {

// Of steady steps; where only statistics were recorded, of the peaks.
[[nodiscard]] Fragmentation fragmentation_of(const DeviceMemory& device,
                                             std::span<const StepLevel> levels);

// Fills device_total, non_torch_peak and the headrooms of all, whose peaks are there. Ranks that
// share a device (by UUID) share what is left.
void add_headroom(std::span<const RankDigest> digests, std::vector<RankMemory>& per_rank);

}  // namespace dprof::analyzer
