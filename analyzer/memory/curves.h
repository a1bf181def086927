// SPDX-License-Identifier: Apache-2.0
// A rank's memory over time, from the best source of each device.
#pragma once

#include <vector>

#include "analyzer/digest/memory/memory.h"
#include "analyzer/memory/result.h"

namespace dprof::analyzer {

// What the figures of a device come from.
[[nodiscard]] MemorySource source_of(const DeviceMemory& device);

// For each device what its allocator did, else what its statistics said; for the host the resident
// set too, as a curve of its own. O(points).
[[nodiscard]] std::vector<MemoryCurve> memory_curves(const MemoryDigest& memory);

}  // namespace dprof::analyzer
