// SPDX-License-Identifier: Apache-2.0
// Checks a GPU's times against those of its host: pairs of both clocks, and kernels that begin
// before they were launched.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/align/result.h"
#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

// Line between the clocks by the hulls; by how much the closest readings miss it, beyond their
// width. `pairs` are of one device, in order of time. nullopt: fewer than three.
[[nodiscard]] std::optional<int64_t> residual_of(std::span<const DevicePair> pairs);

// One entry per rank and GPU of which anything is known.
[[nodiscard]] std::vector<DeviceClock> device_clocks(std::span<const RankDigest> digests);

}  // namespace dprof::analyzer
