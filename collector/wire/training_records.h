// SPDX-License-Identifier: Apache-2.0
// Bodies of libdprof_torch.so's records of memory, gradient buckets and process groups.
#pragma once

#include "collector/wire/record.h"

namespace dprof::wire {

inline constexpr int16_t kHostDevice = -1;

struct MemoryEvent {
  uint64_t address;
  int64_t bytes;
  uint64_t stream;          // cudaStream_t, 0 = the default one or the host
  int64_t requested_bytes;  // -1 = not known
  int16_t device;           // kHostDevice = host memory
  uint8_t kind;             // MemoryEventKind
  uint8_t category;         // MemoryCategory
  uint32_t reserved;
  uint64_t reserved_word;
};

struct MemorySample {
  int64_t allocated_bytes;  // -1 = not known, as in all of these
  int64_t reserved_bytes;
  int64_t peak_allocated_bytes;  // since the last sample
  int64_t peak_reserved_bytes;
  int64_t step;  // -1 = none
  int16_t device;
  uint16_t reserved[3];
};

struct MemoryTag {
  uint64_t address;
  int64_t bytes;
  int16_t device;
  uint8_t category;  // MemoryCategory
  uint8_t reserved[5];
  uint64_t reserved_words[3];
};

struct Bucket {
  uint64_t group;        // hash of the process group, 0 = not known
  int64_t bytes;         // -1 = not known
  uint64_t ready_ticks;  // when its last gradient was ready, 0 = not known
  int32_t index;         // in the order of the reducer
  int32_t parameters;    // -1 = not known
  uint64_t reserved[2];
};

struct GroupMember {
  uint64_t group;
  int32_t member;  // number in the group
  int32_t rank;    // global rank
  uint64_t reserved[4];
};

}  // namespace dprof::wire
