// SPDX-License-Identifier: Apache-2.0
// A device's memory over the whole run, coarse enough to keep for every rank: for drawing.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/digest/memory/memory_levels.h"
#include "base/interval.h"

namespace dprof::analyzer {

// From `begin`, for one cell at most, the level was between `low` and `high`; then it was `last`
// until the next point. Bytes.
struct LevelPoint {
  TraceNs begin;
  int64_t low = 0;
  int64_t high = 0;
  int64_t last = 0;
  int64_t reserved = kUnknownLevel;  // maximum
};

struct LevelCurve {
  int64_t cell_ns = 0;
  std::vector<LevelPoint> points;  // by time
  TraceNs end;                     // of the known levels
};

// Follows a level on a grid whose cells double when there are more than kMost points. Times must
// not decrease.
//
// Memory  40 bytes per point, 80 KB at most.
class LevelCurveBuilder {
 public:
  static constexpr size_t kMost = 2048;

  // The level before the first event.
  explicit LevelCurveBuilder(const MemoryState& first) : state_(first) {}

  void add(TraceNs at, const MemoryState& state);
  // Call once. Adds the offsets to all levels.
  [[nodiscard]] LevelCurve take(int64_t offset, int64_t reserved_offset);

 private:
  void open(TraceNs begin);
  void widen();
  [[nodiscard]] int64_t slot_of(TraceNs at) const {
    return (at - curve_.points.front().begin).ns / curve_.cell_ns;
  }

  MemoryState state_;
  LevelCurve curve_{.cell_ns = 1'000'000, .points = {}, .end = {}};
};

}  // namespace dprof::analyzer
