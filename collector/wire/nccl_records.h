// SPDX-License-Identifier: Apache-2.0
// Bodies of the records of NCCL's profiler plugin. An event's id is the handle given to NCCL: a
// count, never a pointer, unique in the process. `Record.ticks` is when the event began.
#pragma once

#include "collector/wire/record.h"

namespace dprof::wire {

namespace nccl_flag {
inline constexpr uint8_t kCaptured = 1;       // the call is captured in a CUDA graph
inline constexpr uint8_t kGroupImplicit = 2;  // a group of one call, made by NCCL
}  // namespace nccl_flag

// An unknown `sequence`, where a count could differ between ranks: a call captured in a CUDA graph,
// a collective of the copy engines, or too many peers to count.
inline constexpr uint64_t kNoSequence = ~uint64_t{0};

struct NcclCommunicator {
  uint64_t hash;     // commHash, equal on all ranks
  uint64_t ordinal;  // own count per process and hash, from 0: re-creation gives a new one
  int32_t ranks;     // -1 = not known (plugin v3)
  int32_t rank;
  int32_t nodes;
  uint32_t plugin_version;
  uint32_t device;  // ~0 = not known
  uint32_t reserved;
  uint64_t reserved_word;
};

struct NcclCall {
  uint64_t id;
  uint64_t hash;
  int64_t count;           // elements per rank, -1 = not known
  uint64_t stream;         // cudaStream_t, 0 = not known
  uint64_t launch;         // id of the GroupApi event that encloses it, 0 = none
  int32_t root;            // root, -1 = none
  uint8_t function;        // Function
  uint8_t data_type;       // DataType
  uint8_t flags;           // nccl_flag
  uint8_t point_to_point;  // 1 = send or receive
};

// For AllGather and Broadcast NCCL reports the count in bytes and the type as int8, whatever the
// caller passed: the NcclCall, if there is one, has the caller's type and element count.
struct NcclCollective {
  uint64_t id;
  uint64_t call;  // id of its NcclCall (CollApi), 0 = none (plugin v3 and v4)
  uint64_t hash;
  uint64_t sequence;  // NCCL's, per communicator and function
  int64_t count;
  int32_t root;
  uint8_t function;   // Function
  uint8_t data_type;  // DataType
  uint8_t channels;
  uint8_t flags;  // nccl_flag
};
// Its continuation slot: algorithm and protocol as string ids.
struct NcclTuning {
  uint32_t algorithm;  // string id, 0 = not known
  uint32_t protocol;
  uint32_t warps;
  uint32_t reserved[13];
};
static_assert(sizeof(NcclTuning) == kSlotBytes);

struct NcclPointToPoint {
  uint64_t id;
  uint64_t call;
  uint64_t hash;
  uint64_t sequence;  // own count per communicator, peer and direction
  int64_t count;
  int32_t peer;
  uint8_t function;  // kSend or kRecv
  uint8_t data_type;
  uint8_t channels;
  uint8_t flags;
};

// A kernel launch brackets cuLaunchKernelEx; CUPTI's external correlation carries `id`.
struct NcclLaunch {
  uint64_t id;
  uint64_t group;   // id of the GroupApi event
  uint64_t stream;  // cudaStream_t
  uint64_t reserved[3];
};

struct NcclKernelChannel {
  uint64_t parent;           // id of the collective or message
  uint64_t start_device_ns;  // globaltimer; 0 = not known
  uint64_t stop_device_ns;
  uint32_t channel;
  uint32_t reserved;
  uint64_t reserved_words[2];
};

struct NcclProxy {
  uint64_t parent;
  int64_t bytes;
  uint64_t duration_ticks;
  int32_t peer;
  uint32_t steps;
  uint32_t channel;
  uint8_t is_send;
  uint8_t reserved[3];
  uint64_t reserved_word;
};

}  // namespace dprof::wire
