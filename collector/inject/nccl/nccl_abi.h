// SPDX-License-Identifier: Apache-2.0
// The binary interface of NCCL's profiler plugin, versions 3 to 6: offsets, not NVIDIA's headers.
// One declaration per version, although much is alike: each is fixed by the NCCL releases that use
// it. nccl_abi_test.cpp compares with constants taken from NCCL.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dprof::inject::nccl {

inline constexpr int kSuccess = 0;  // ncclSuccess: all that a plugin may ever return

// Event types: one bit each, in descriptors and in the activation mask.
namespace event_type {
inline constexpr uint32_t kGroup = 1u << 0, kColl = 1u << 1, kP2p = 1u << 2, kProxyOp = 1u << 3,
                          kProxyStep = 1u << 4, kProxyCtrl = 1u << 5, kKernelCh = 1u << 6,
                          kNetPlugin = 1u << 7;
// From version 5.
inline constexpr uint32_t kGroupApi = 1u << 8, kCollApi = 1u << 9, kP2pApi = 1u << 10,
                          kKernelLaunch = 1u << 11;
// From version 6: the copy engines.
inline constexpr uint32_t kCeColl = 1u << 12, kCeSync = 1u << 13, kCeBatch = 1u << 14;
}  // namespace event_type

// The states whose arguments are recorded.
namespace event_state {
inline constexpr int kProxyStepSendWait = 9, kProxyStepRecvFlushWait = 11, kKernelChStop = 22;
}  // namespace event_state

// --- version 3: NCCL 2.26 ------------------------------------------------------------------------

struct CollV3 {
  const char* name;
  uint64_t comm_hash;
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* data_type;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct P2pV3 {
  const char* name;
  uint64_t comm_hash;
  const char* function;
  void* buffer;
  const char* data_type;
  size_t count;
  int peer;
};
struct ProxyOpV3 {
  int pid;
  uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};
struct KernelChV3 {
  uint8_t channel;
};
struct EventV3 {
  uint8_t type;
  void* parent;
  int rank;
  union {
    CollV3 coll;
    P2pV3 p2p;
    ProxyOpV3 proxy_op;
    KernelChV3 kernel_channel;
  };
};
union StateArgsV3 {
  struct {
    size_t bytes;
    int steps;
  } proxy_op;
  struct {
    int appended;
  } proxy_control;
};
struct ProfilerV3 {
  const char* name;
  int (*init)(void** context, int* mask);
  int (*start_event)(void* context, void** handle, EventV3* event);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, StateArgsV3* arguments);
  int (*finalize)(void* context);
};

// --- version 4: NCCL 2.27 ------------------------------------------------------------------------

struct CollV4 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* data_type;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct P2pV4 {
  const char* function;
  void* buffer;
  const char* data_type;
  size_t count;
  int peer;
  uint8_t channels;
};
struct ProxyOpV4 {
  int pid;
  uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};
struct KernelChV4 {
  uint8_t channel;
  uint64_t device_ns;
};
struct EventV4 {
  uint8_t type;
  void* parent;
  int rank;
  union {
    CollV4 coll;
    P2pV4 p2p;
    ProxyOpV4 proxy_op;
    KernelChV4 kernel_channel;
  };
};
union StateArgsV4 {
  struct {
    size_t bytes;
  } proxy_step;
  struct {
    int appended;
  } proxy_control;
  struct {
    void* data;
  } net_plugin;
  struct {
    uint64_t device_ns;
  } kernel_channel;
};
using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);
struct ProfilerV4 {
  const char* name;
  int (*init)(void** context, int* mask, const char* comm_name, uint64_t comm_hash, int nodes,
              int ranks, int rank, Logger logger);
  int (*start_event)(void* context, void** handle, EventV4* event);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, StateArgsV4* arguments);
  int (*finalize)(void* context);
};

// --- version 5: NCCL 2.28 ------------------------------------------------------------------------

struct GroupApiV5 {
  bool captured;
  int depth;  // 1 = NCCL made the group for one call
};
struct CollApiV5 {
  const char* function;
  size_t count;
  const char* data_type;
  int root;
  void* stream;
  bool captured;
};
struct P2pApiV5 {
  const char* function;
  size_t count;
  const char* data_type;
  void* stream;
  bool captured;
};
struct KernelLaunchV5 {
  void* stream;
};
struct CollV5 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* data_type;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
  void* group;
};
struct P2pV5 {
  const char* function;
  void* buffer;
  const char* data_type;
  size_t count;
  int peer;
  uint8_t channels;
  void* group;
};
struct ProxyOpV5 {
  int pid;
  uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};
struct KernelChV5 {
  uint8_t channel;
  uint64_t device_ns;
};
// `rank` is 0 on every rank in the API's events (NCCL issue 2300): the communicator's rank is used
// instead.
struct EventV5 {
  uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApiV5 group_api;
    CollApiV5 coll_api;
    P2pApiV5 p2p_api;
    KernelLaunchV5 kernel_launch;
    CollV5 coll;
    P2pV5 p2p;
    ProxyOpV5 proxy_op;
    KernelChV5 kernel_channel;
  };
};
union StateArgsV5 {
  struct {
    size_t bytes;
  } proxy_step;
  struct {
    int appended;
  } proxy_control;
  struct {
    void* data;
  } net_plugin;
  struct {
    uint64_t device_ns;
  } kernel_channel;
};
struct ProfilerV5 {
  const char* name;
  int (*init)(void** context, uint64_t comm_hash, int* mask, const char* comm_name, int nodes,
              int ranks, int rank, Logger logger);
  int (*start_event)(void* context, void** handle, EventV5* event);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, StateArgsV5* arguments);
  int (*finalize)(void* context);
};

// --- version 6: NCCL 2.29 and 2.30 ---------------------------------------------------------------

struct GroupApiV6 {
  bool captured;
  int depth;
};
struct CollApiV6 {
  const char* function;
  size_t count;
  const char* data_type;
  int root;
  void* stream;
  bool captured;
};
struct P2pApiV6 {
  const char* function;
  size_t count;
  const char* data_type;
  void* stream;
  bool captured;
};
struct KernelLaunchV6 {
  void* stream;
};
struct CollV6 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* data_type;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
  void* group;
};
struct P2pV6 {
  const char* function;
  void* buffer;
  const char* data_type;
  size_t count;
  int peer;
  uint8_t channels;
  void* group;
};
struct ProxyOpV6 {
  int pid;
  uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};
struct KernelChV6 {
  uint8_t channel;
  uint64_t device_ns;
};
// A collective of the copy engines. Its sequence counts all such collectives of the communicator,
// whatever the function.
struct CeCollV6 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* data_type;
  const char* synchronization;
  bool intra_batch_sync;
  uint32_t batch_size;
  uint32_t batches;
  uint32_t ce_sequence;
  void* stream;
};
struct EventV6 {
  uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApiV6 group_api;
    CollApiV6 coll_api;
    P2pApiV6 p2p_api;
    KernelLaunchV6 kernel_launch;
    CollV6 coll;
    P2pV6 p2p;
    ProxyOpV6 proxy_op;
    KernelChV6 kernel_channel;
    CeCollV6 ce_coll;
  };
};
union StateArgsV6 {
  struct {
    size_t bytes;
  } proxy_step;
  struct {
    int appended;
  } proxy_control;
  struct {
    void* data;
  } net_plugin;
  struct {
    uint64_t device_ns;
  } kernel_channel;
};
struct ProfilerV6 {
  const char* name;
  int (*init)(void** context, uint64_t comm_hash, int* mask, const char* comm_name, int nodes,
              int ranks, int rank, Logger logger);
  int (*start_event)(void* context, void** handle, EventV6* event);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, StateArgsV6* arguments);
  int (*finalize)(void* context);
};

}  // namespace dprof::inject::nccl
