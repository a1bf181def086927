// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/memory/level_curve.h"

#include <algorithm>
#include <utility>

namespace dprof::analyzer {

void LevelCurveBuilder::open(TraceNs begin) {
  curve_.points.push_back({.begin = begin,
                           .low = state_.allocated,
                           .high = state_.allocated,
                           .last = state_.allocated,
                           .reserved = state_.reserved});
}

// Cells begin at multiples of the width from the first point on; some have no point.
void LevelCurveBuilder::widen() {
  curve_.cell_ns *= 2;
  std::vector<LevelPoint> joined;
  for (const LevelPoint& point : curve_.points) {
    if (joined.empty() || slot_of(joined.back().begin) != slot_of(point.begin)) {
      joined.push_back(point);
      TraceNs& begin = joined.back().begin;
      begin = curve_.points.front().begin + DurationNs{slot_of(begin) * curve_.cell_ns};
      // The level from the cell's begin until this point.
      if (begin < point.begin && joined.size() > 1) {
        const int64_t before = joined[joined.size() - 2].last;
        joined.back().low = std::min(joined.back().low, before);
        joined.back().high = std::max(joined.back().high, before);
      }
      continue;
    }
    LevelPoint& all = joined.back();
    all.low = std::min(all.low, point.low);
    all.high = std::max(all.high, point.high);
    all.last = point.last;
    all.reserved = std::max(all.reserved, point.reserved);
  }
  curve_.points = std::move(joined);
}

void LevelCurveBuilder::add(TraceNs at, const MemoryState& state) {
  if (curve_.points.empty()) open(at);
  while (true) {
    const int64_t slot = slot_of(at);
    if (slot == slot_of(curve_.points.back().begin)) break;
    if (curve_.points.size() >= kMost) {
      widen();
      continue;
    }
    open(curve_.points.front().begin + DurationNs{slot * curve_.cell_ns});
  }
  LevelPoint& point = curve_.points.back();
  point.low = std::min(point.low, state.allocated);
  point.high = std::max(point.high, state.allocated);
  point.last = state.allocated;
  point.reserved = std::max(point.reserved, state.reserved);
  state_ = state;
  curve_.end = at;
}

LevelCurve LevelCurveBuilder::take(int64_t offset, int64_t reserved_offset) {
  for (LevelPoint& point : curve_.points) {
    point.low += offset;
    point.high += offset;
    point.last += offset;
    if (point.reserved != kUnknownLevel) point.reserved += reserved_offset;
  }
  curve_.points.shrink_to_fit();
  return std::move(curve_);
}

}  // namespace dprof::analyzer
