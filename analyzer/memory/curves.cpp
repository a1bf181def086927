// SPDX-License-Identifier: Apache-2.0
#include "analyzer/memory/curves.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace dprof::analyzer {
namespace {

// The larger of the known values; an unknown level stays unknown.
int64_t raised(int64_t level, std::optional<int64_t> peak) {
  return level == kUnknownLevel || !peak ? level : std::max(level, *peak);
}

// Between two readings only the peaks reported by the later one are known.
LevelCurve levels_of(const std::vector<MemoryReading>& readings) {
  LevelCurve curve{.cell_ns = std::numeric_limits<int64_t>::max(), .points = {}, .end = {}};
  for (const MemoryReading& reading : readings) {
    if (!reading.allocated) continue;
    const int64_t level = *reading.allocated;
    if (!curve.points.empty()) {
      LevelPoint& before = curve.points.back();
      before.high = raised(before.high, reading.peak_allocated);
      before.reserved = raised(before.reserved, reading.peak_reserved);
    }
    curve.points.push_back({.begin = reading.at,
                            .low = level,
                            .high = level,
                            .last = level,
                            .reserved = reading.reserved.value_or(kUnknownLevel)});
    curve.end = reading.at;
  }
  return curve;
}

}  // namespace

MemorySource source_of(const DeviceMemory& device) {
  const bool statistics =
      device.device >= 0 && std::ranges::any_of(device.readings, [](const MemoryReading& reading) {
        return reading.allocated.has_value();
      });
  if (device.events > 0) {
    return device.own_totals || statistics ? MemorySource::kAllocatorEvents
                                           : MemorySource::kCountedEvents;
  }
  return device.device >= 0 ? MemorySource::kStepSamples : MemorySource::kResident;
}

std::vector<MemoryCurve> memory_curves(const MemoryDigest& memory) {
  std::vector<MemoryCurve> curves;
  const auto add = [&](const DeviceMemory& device, MemorySource source, LevelCurve levels) {
    if (!levels.points.empty()) curves.push_back({device.device, source, std::move(levels)});
  };
  for (const DeviceMemory& device : memory.devices) {
    const MemorySource source = source_of(device);
    if (device.events > 0) add(device, source, device.curve);
    if (device.events == 0 || device.device < 0) {
      add(device, device.device < 0 ? MemorySource::kResident : source, levels_of(device.readings));
    }
  }
  return curves;
}

}  // namespace dprof::analyzer
