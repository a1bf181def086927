// SPDX-License-Identifier: Apache-2.0
// A rank's memory over time, from the best source of each device.
#pragma once

#include <vector>

#include "analyzer/digest/memory/memory.h"
#include "analyzer/memory/result.h"

namespace dprof::analyzer {

// The source of a device's figures.
[[nodiscard]] MemorySource source_of(const DeviceMemory& device);

// For each device the allocator's events, else its statistics; for the host also the resident set,
// as a separate curve. O(points).
[[nodiscard]] std::vector<MemoryCurve> memory_curves(const MemoryDigest& memory);

}  // namespace dprof::analyzer
