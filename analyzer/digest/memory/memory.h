// SPDX-License-Identifier: Apache-2.0
// The result of a rank's allocations and memory samples, for the merge across ranks
// (docs/analysis/memory.md): per device the allocated memory over time, and the blocks at the peak
// and at the end. Bytes are as the allocator counts them, times on the run's axis.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "analyzer/digest/memory/level_curve.h"
#include "analyzer/digest/memory/memory_blocks.h"
#include "analyzer/digest/memory/memory_levels.h"
#include "analyzer/digest/system.h"  // layer-exception: names the kinds of samples
#include "analyzer/run/run.h"
#include "analyzer/vocabulary/step_record.h"
#include "base/result.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {

// A reading of the allocator's statistics, or of the kernel's (device -1: the resident set).
struct MemoryReading {
  TraceNs at;
  std::optional<int64_t> allocated;
  std::optional<int64_t> reserved;
  std::optional<int64_t> peak_allocated;  // since the previous reading, if it rose
  std::optional<int64_t> peak_reserved;
  std::optional<int64_t> largest_free;  // largest free piece of reserved memory
};

struct OomRecord {
  TraceNs at;
  int64_t bytes = 0;
  std::optional<int64_t> free_bytes;  // reserved and not allocated
};

struct DeviceMemory {
  int device = -1;
  int64_t events = 0;       // allocations and frees
  bool own_totals = false;  // they contain the allocator's own totals; else the levels are counted

  // Levels; all nullopt or empty without events.
  std::optional<int64_t> peak_allocated;
  std::optional<int64_t> peak_reserved;
  TraceNs peak_at;
  schema::Marker peak_phase{};
  int64_t before_at_peak = 0;  // of the peak, allocated before the recording or without a record
  std::array<std::optional<int64_t>, kMemoryPhases> phase_peaks{};
  std::vector<MemoryCell> cells;
  LevelCurve curve;
  std::vector<HeldBlock> at_peak;  // largest first
  std::vector<HeldBlock> at_end;   // of the last step: blocks made in the recording
  int64_t unmatched_frees = 0;     // of blocks without a recorded allocation
  int64_t reused = 0;              // blocks handed out again without a recorded free
  std::optional<int64_t> retries;  // allocations that released the cache and retried

  std::vector<MemoryReading> readings;
  std::vector<OomRecord> out_of_memory;
};

// A device's maximum memory use over all processes, by its UUID.
struct DeviceUse {
  std::string uuid;
  int64_t used = 0;
  int64_t total = 0;
};

struct DeviceSize {
  int device = 0;
  std::string uuid;  // "" = unknown
  std::optional<int64_t> bytes;
};

struct MemoryDigest {
  int64_t rows = 0;  // read
  int64_t bad_rows = 0;
  // Allocations were not recorded continuously: blocks that seem to remain may have been freed.
  bool host_gaps = false;
  bool device_gaps = false;
  std::vector<DeviceMemory> devices;  // by number
  std::vector<DeviceSize> sizes;
  int64_t registered_parameters = 0;  // as reported by the program
  std::vector<DeviceUse> uses;        // of all devices of the host, in one of its traces
  std::vector<std::string> sites;     // names indexed by HeldBlock::site
};

// Calls move(time) for every time in it. Private to the mapping onto the run's axis.
template <typename Move>
void for_each_time(MemoryDigest& memory, const Move& move) {
  for (DeviceMemory& device : memory.devices) {
    if (device.peak_allocated) move(device.peak_at);
    for (MemoryCell& cell : device.cells) move(cell.begin);
    for (LevelPoint& point : device.curve.points) move(point.begin);
    if (!device.curve.points.empty()) move(device.curve.end);
    for (std::vector<HeldBlock>* blocks : {&device.at_peak, &device.at_end}) {
      for (HeldBlock& block : *blocks) {
        if (block.born != kBeforeRecording) move(block.born);
        if (block.freed != kNeverFreed) move(block.freed);
      }
    }
    for (MemoryReading& reading : device.readings) move(reading.at);
    for (OomRecord& oom : device.out_of_memory) move(oom.at);
  }
}

// Gathers DeviceUse from a stream of rows.
class DeviceUseGatherer {
 public:
  explicit DeviceUseGatherer(const schema::TraceReader& reader) : reader_(reader) {}

  void see(const schema::SystemSampleRow& row, SampleKind kind);
  [[nodiscard]] std::vector<DeviceUse> take();

 private:
  const schema::TraceReader& reader_;
  std::map<int64_t, DeviceUse> by_subject_;
};

// Facts about the rank known before its memory is read; must outlive the reading.
struct MemoryContext {
  std::span<const PhaseRange> phases;
  std::span<const StepRecord> steps;
  const IntervalSet& autograd;                 // nodes of the training thread
  const IntervalSet& autograd_elsewhere;       // and of autograd's own threads
  const std::unordered_set<int64_t>& loaders;  // threads
  bool lost_events = false;                    // of memory
};

// Reads one trace: memory_event once, memory_sample once, and, if there were blocks at the peak,
// the ranges that allocated them, since only now it is known which ones matter. O(rows log live
// blocks) time; memory O(live blocks + steps).
Result<MemoryDigest> read_memory(const TraceFile& trace, const schema::TraceReader& reader,
                                 const MemoryContext& so_far);

}  // namespace dprof::analyzer
