// SPDX-License-Identifier: Apache-2.0
// A device's allocated and reserved memory, by cells of time.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "analyzer/vocabulary/step_record.h"
#include "base/interval.h"

namespace dprof::analyzer {

struct StepRecord;

inline constexpr int64_t kUnknownLevel = std::numeric_limits<int64_t>::min();

// From `begin` to the next cell's `begin`.
struct MemoryCell {
  TraceNs begin;
  int64_t low = 0;  // allocated: minimum and maximum
  int64_t high = 0;
  int64_t reserved_at_high = kUnknownLevel;
  int64_t split_at_high = kUnknownLevel;  // of it, free and in partly used segments
  int64_t reserved_high = kUnknownLevel;
  int32_t segment_allocs = 0;
  int32_t segment_frees = 0;
  int32_t flushes = 0;  // runs of segment_frees
};

// Extends `all` over `one` too; its begin does not change.
void join(MemoryCell& all, const MemoryCell& one);

// The state after an event.
struct MemoryState {
  int64_t allocated = 0;
  int64_t reserved = kUnknownLevel;
  int64_t split = kUnknownLevel;
};

// Cuts at the steps' ends, if steps are known; else into stretches of equal length, which double
// when there are more than kMost. Times must not decrease.
//
// Memory  72 bytes per cell; two cells per step.
class MemoryLevels {
 public:
  static constexpr size_t kMost = 8192;
  enum class Change : uint8_t { kLevel, kSegmentAlloc, kSegmentFree, kFirstSegmentFree };

  MemoryLevels(std::span<const StepRecord> steps, const MemoryState& first);

  void add(TraceNs at, const MemoryState& state, Change change);
  // Call once: fills the cells up to the last step's end, and adds the offsets to all levels.
  [[nodiscard]] std::vector<MemoryCell> take(int64_t offset, int64_t reserved_offset);

 private:
  void open(TraceNs begin);
  void go_to(TraceNs at);
  void halve();

  std::vector<TraceNs> cuts_;  // ascending; empty = regular grid
  size_t next_cut_ = 0;
  int64_t width_ns_ = 1'000'000;  // of the grid
  MemoryState state_;
  std::vector<MemoryCell> cells_;
};

}  // namespace dprof::analyzer
