// SPDX-License-Identifier: Apache-2.0
// Replays one device's allocator, event by event. Private to memory.cpp.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/digest/memory/level_curve.h"
#include "analyzer/digest/memory/memory.h"
#include "analyzer/digest/memory/memory_blocks.h"
#include "analyzer/digest/memory/memory_levels.h"
#include "analyzer/digest/memory/memory_phases.h"
#include "analyzer/digest/memory/memory_segments.h"

namespace dprof::analyzer {

// Also nullopt for an impossible number.
inline std::optional<int64_t> credible(const std::optional<int64_t>& bytes) {
  return bytes && *bytes >= 0 && *bytes <= LiveBlocks::kMostBytes ? bytes : std::nullopt;
}

// Segments released and then one obtained, without another event between: an allocation that found
// no memory, or a program that emptied the cache.
struct Flush {
  int64_t thread = -1;
  int64_t free_ns = 0;   // of the last segment; in the trace's time
  int64_t alloc_ns = 0;  // of the new one
};

class DeviceReplay {
 public:
  // `readings` of this device in order of time. The spans' data must outlive the object.
  DeviceReplay(int device, std::span<const StepRecord> steps,
               const std::vector<MemoryPhase>& pieces, std::vector<MemoryReading> readings)
      : steps_(steps), pieces_(pieces) {
    out_.device = device;
    out_.readings = std::move(readings);
  }

  // Rows with plausible times and sizes; `at` on the run's axis. False: left out, because a sum
  // would become implausibly large.
  bool take(const schema::MemoryEventRow& row, TraceNs at);

  struct Outcome {
    DeviceMemory memory;             // without blocks and retries
    std::vector<LiveBlock> at_peak;  // in the trace's time
    std::vector<LiveBlock> at_end;
    std::vector<Flush> flushes;
  };
  // Call once.
  Outcome finish();

 private:
  void change(const schema::MemoryEventRow& row, TraceNs at);
  void begin(const schema::MemoryEventRow& row, TraceNs at);
  void change_block(const schema::MemoryEventRow& row, int64_t bytes);
  void change_segment(const schema::MemoryEventRow& row);
  void note_oom(const schema::MemoryEventRow& row, TraceNs at);
  void follow(TraceNs at, MemoryLevels::Change change);
  void compare_readings(TraceNs until);
  [[nodiscard]] size_t phase_of(TraceNs at);
  [[nodiscard]] MemoryState state(const schema::MemoryEventRow& row) const;

  std::span<const StepRecord> steps_;
  const std::vector<MemoryPhase>& pieces_;
  DeviceMemory out_;
  LiveBlocks blocks_;
  Segments segments_;
  std::optional<MemoryLevels> levels_;
  std::optional<LevelCurveBuilder> curve_;  // set together with levels_
  MemoryState now_;
  bool own_reserved_ = false;
  TraceNs last_at_;
  size_t piece_ = 0;
  int64_t peak_ = 0;
  std::optional<int64_t> peak_reserved_;
  // Difference between the allocator's and the counted level, at each reading.
  size_t next_reading_ = 0;
  std::vector<double> allocated_gaps_;
  std::vector<double> reserved_gaps_;
  std::optional<std::vector<LiveBlock>> at_end_;  // of the last step
  std::vector<Flush> flushes_;
  std::optional<Flush> giving_back_;  // segments released just now
};

}  // namespace dprof::analyzer
