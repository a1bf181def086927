// SPDX-License-Identifier: Apache-2.0
// Bodies of the CUDA source's records. Times ending in _ns are nanoseconds since the recorder's
// start, unless kRealtimeBase is set: then CLOCK_REALTIME, because CUPTI accepted no timestamp
// callback.
#pragma once

#include "collector/wire/record.h"

namespace dprof::wire {

namespace gpu_flag {
inline constexpr uint8_t kRealtimeBase = 1;
inline constexpr uint8_t kNoTimestamp = 2;  // CUPTI gave none: keep the row, without times
inline constexpr uint8_t kInGraph = 4;
}  // namespace gpu_flag

struct Device {
  uint32_t device;              // CUDA's ordinal
  uint32_t compute_capability;  // major * 100 + minor
  uint64_t memory_bytes;
  unsigned char uuid[16];
  uint64_t reserved[2];
};

struct StreamName {
  uint32_t device;
  uint32_t stream;  // CUPTI's id
  uint64_t reserved[5];
};

struct GpuActivity {
  int64_t start_ns;
  int64_t end_ns;
  uint64_t bytes;       // of a copy or memset, else 0
  uint64_t graph_node;  // 0 = none
  uint32_t correlation;
  uint32_t stream;  // CUPTI's id
  uint16_t device;  // 0xffff = not known (of a synchronisation, before its context was seen)
  uint8_t kind;     // GpuActivityKind
  uint8_t flags;    // gpu_flag
  uint32_t graph;   // 0 = none
};

// In the continuation of a kernel's GpuActivity, at detail full.
struct KernelShape {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t registers;  // per thread
  uint32_t static_shared_bytes;
  uint32_t dynamic_shared_bytes;
  uint32_t reserved[7];
};
static_assert(sizeof(KernelShape) == kSlotBytes);

struct ApiCall {
  int64_t start_ns;
  int64_t end_ns;
  uint32_t correlation;
  uint32_t os_tid;
  uint32_t callback_id;  // CUPTI's cbid
  uint8_t runtime;       // 1 = runtime, 0 = driver
  uint8_t flags;         // gpu_flag
  uint16_t reserved;
  int32_t result;  // CUDA's return value
  uint32_t reserved_word;
  uint64_t reserved_words;
};

struct ExternalCorrelation {
  uint64_t external;  // NCCL launch id
  uint32_t correlation;
  uint32_t reserved;
  uint64_t reserved_words[4];
};

enum class GpuEventKind : uint8_t { kRecord = 1, kStreamWait = 2, kSynchronize = 3 };

struct GpuEvent {
  int64_t time_ns;  // of the call
  uint64_t event;   // the event's handle, unique while the event lives
  uint32_t stream;  // the stream that records or waits; ~0 = the host
  uint32_t correlation;
  uint16_t device;
  GpuEventKind kind;
  uint8_t flags;  // gpu_flag
  uint32_t reserved;
  uint64_t reserved_words[2];
};

struct CuptiOverhead {
  int64_t start_ns;
  int64_t end_ns;
  uint32_t os_tid;
  uint8_t flags;  // gpu_flag
  uint8_t reserved[3];
  uint64_t reserved_words[3];
};

struct GpuFlush {
  uint64_t delivered;  // records decoded since the last flush
  uint64_t dropped;    // records that CUPTI counted as dropped since the last flush
  uint64_t cost_ns;    // of the flush call
  uint64_t reserved[3];
};

}  // namespace dprof::wire
