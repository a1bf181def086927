// SPDX-License-Identifier: Apache-2.0
// Checks a GPU's times against its host's: pairs of readings of both clocks, and kernels that begin
// before their launch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/align/result.h"
#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

// Fits a line between the clocks by the hulls; returns by how much the closest readings miss it,
// beyond their width. `pairs` are of one device, in order of time. nullopt: fewer than three.
[[nodiscard]] std::optional<int64_t> residual_of(std::span<const DevicePair> pairs);

// One entry per rank and GPU with any evidence.
[[nodiscard]] std::vector<DeviceClock> device_clocks(std::span<const RankDigest> digests);

}  // namespace dprof::analyzer
