// SPDX-License-Identifier: Apache-2.0
// A rank's memory over time, as columns of pixels: on the page Memory and as a row of the timeline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/analysis.h"
#include "gui/view/drawing/draw_list.h"
#include "gui/view/drawing/time_scale.h"

namespace dprof::view {

struct MemoryTrack {
  MemoryTrack() = default;
  explicit MemoryTrack(analyzer::MemoryCurve of);

  analyzer::MemoryCurve curve;
  int64_t most = 0;      // ever held, or reserved
  bool changes = false;  // otherwise a row would show nothing
};

// Measured from outside, not by an allocator: a host can have both.
[[nodiscard]] inline bool is_resident(const analyzer::MemoryCurve& curve) {
  return curve.source == analyzer::MemorySource::kResident;
}

// "memory of device 0", "memory of the host", "resident memory".
[[nodiscard]] std::string title_of(const analyzer::MemoryCurve& curve);
// Its part of a track's selector: "device:0/memory", "memory", "resident".
[[nodiscard]] std::string word_of(const analyzer::MemoryCurve& curve);

struct HeldMemory {
  int64_t low = 0;  // minimum and maximum
  int64_t high = 0;
  std::optional<int64_t> reserved;  // the maximum
};
// The memory held in that time; nullopt = unknown throughout. O(log points + points in it).
[[nodiscard]] std::optional<HeldMemory> held_in(const analyzer::LevelCurve& levels, Interval span);

// "12.1 GB to 12.3 GB allocated, 14.0 GB reserved".
[[nodiscard]] std::string held_text(const analyzer::MemoryCurve& curve, const HeldMemory& held);

// An area up to each pixel column's minimum, paler up to its maximum with an edge on top; reserved
// memory as a thin line. `area` is as wide as the scale; its height means `full` bytes.
void draw_held(const analyzer::LevelCurve& levels, const TimeScale& scale, Box area, int64_t full,
               DrawList& list);

}  // namespace dprof::view
