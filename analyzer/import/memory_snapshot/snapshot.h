// SPDX-License-Identifier: Apache-2.0
// A snapshot of PyTorch's CUDA allocator, as it is in the file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/import/plain_data.h"
#include "base/result.h"

namespace dprof::analyzer::memory_snapshot {

enum class Action : uint8_t {
  kAlloc,
  kFreeRequested,  // the block still waits for other streams
  kFree,
  kSegmentAlloc,  // from the device, or part of an expandable segment
  kSegmentFree,
  kOutOfMemory,
  kSnapshot,
};

struct Event {
  Action action{};
  uint64_t address = 0;  // none for kOutOfMemory
  int64_t bytes = 0;     // for blocks: the requested size
  int64_t time_ns = 0;   // CLOCK_REALTIME; not before the previous event's
  PlainData::Id frames = PlainData::kNothing;
  std::optional<int64_t> device_free;  // for kOutOfMemory
};

struct Block {
  uint64_t address = 0;
  int64_t bytes = 0;
  std::optional<int64_t> requested;
  PlainData::Id frames = PlainData::kNothing;
};

struct Segment {
  uint64_t address = 0;
  int64_t bytes = 0;
};

// One device's state when the snapshot was taken, and the preceding events.
struct DeviceState {
  std::vector<Segment> segments;
  std::vector<Block> active;  // allocated, or freed but still in use by other streams
  int64_t active_bytes = 0;
  int64_t reserved_bytes = 0;
  int64_t waiting_bytes = 0;  // the freed part of active
  int64_t free_pieces = 0;
  int64_t largest_free = 0;
  std::vector<Event> events;
  bool undated = false;  // its events have no times
};

struct Annotation {
  bool begins = false;
  std::string name;
  int64_t device = 0;
  int64_t time_ns = 0;
};

struct Snapshot {
  std::map<int, DeviceState> devices;
  std::vector<Annotation> annotations;
  std::string settings;                         // PYTORCH_CUDA_ALLOC_CONF
  std::map<std::string_view, int64_t> skipped;  // unusable data, by reason
};

// kNotATrace if it is something else, kDamaged if its sizes are implausible.
Result<Snapshot> snapshot_of(const PlainData& data);

}  // namespace dprof::analyzer::memory_snapshot
