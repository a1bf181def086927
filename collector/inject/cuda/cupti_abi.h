// SPDX-License-Identifier: Apache-2.0
// The part of CUPTI's binary interface that dprof uses, declared here so that libdprof.so builds
// without NVIDIA's headers; cupti_abi_test.cpp compares with them if they are installed.
//
// Records are declared up to the last field that is read. Each of these fields has the same offset
// in every version from CUDA 12.0 (API 18) to 13.3; newer records are only longer, so only the
// common beginning is copied out of a buffer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dprof::inject::cupti {

// Handles of CUDA and CUPTI, opaque here.
using Context = void*;
using Stream = void*;
using Subscriber = void*;

using Result = uint32_t;
inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidParameter = 1;
inline constexpr Result kInvalidKind = 21;
inline constexpr Result kMaxLimitReached = 12;
inline constexpr Result kQueueEmpty = 18;
inline constexpr Result kMultipleSubscribers = 39;
inline constexpr Result kUnknown = 999;

enum class ActivityKind : uint32_t {
  kMemcpy = 1,
  kMemset = 2,
  kDriver = 4,
  kRuntime = 5,
  kDevice = 8,
  kContext = 9,
  kConcurrentKernel = 10,
  kOverhead = 17,
  kMemcpyPeer = 22,  // MEMCPY2
  kStream = 37,
  kSynchronization = 38,
  kExternalCorrelation = 39,
  kGraphTrace = 51,
};

enum class Attribute : uint32_t {
  kZeroedBuffers = 5,
  kGraphTraceForAll = 20,  // MULTI_SUBSCRIBER_GRAPH_TRACE, from 13.3 on, like those below
  kAllSyncRecords = 16,
  kThreadIdType = 21,
  kTimestampCallback = 22,
};

inline constexpr uint32_t kThreadIdSystem = 1;  // gettid, not pthread_self
inline constexpr uint32_t kFlushForced = 1;
inline constexpr uint32_t kExternalCustom2 = 5;  // Kineto uses CUSTOM0 and CUSTOM1
inline constexpr uint32_t kObjectThread = 2;
inline constexpr uint32_t kInvalidStream = ~0u;

enum class Domain : uint32_t { kDriver = 1, kRuntime = 2 };
inline constexpr uint32_t kSiteEnter = 0;

enum class CopyKind : uint8_t {
  kUnknown = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kHostToArray = 3,
  kArrayToHost = 4,
  kArrayToArray = 5,
  kArrayToDevice = 6,
  kDeviceToArray = 7,
  kDeviceToDevice = 8,
  kHostToHost = 9,
  kPeerToPeer = 10,
};

enum class SyncType : uint32_t {
  kUnknown = 0,
  kEvent = 1,
  kStreamWait = 2,
  kStream = 3,
  kContext = 4
};

enum class OverheadKind : uint32_t {
  kUnknown = 0,
  kDriverCompiler = 1,
  kBufferFlush = 1u << 16,
  kInstrumentation = 2u << 16,
  kResource = 3u << 16,
  kModuleLoading = 4u << 16,
  kLazyFunctionLoading = 5u << 16,
  kCommandBufferFull = 6u << 16,
  kBufferRequest = 7u << 16,
  kUvmInit = 8u << 16,
};

// --- Activity records ----------------------------------------------------------------------------

struct Kernel {
  ActivityKind kind;
  uint16_t cache_and_shared_config;
  uint16_t registers_per_thread;
  uint32_t partitioned_cache[2];
  uint64_t start;
  uint64_t end;
  uint64_t completed;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t static_shared_bytes;
  uint32_t dynamic_shared_bytes;
  uint32_t local_memory[2];
  uint32_t correlation;
  int64_t grid_id;
  const char* name;
  void* reserved;
  uint64_t queued;
  uint64_t submitted;
  uint32_t launch_type_and_carveout;
  uint32_t shared_memory_executed;
  uint64_t graph_node;
  uint32_t shared_limit_config;
  uint32_t graph;
};
static_assert(offsetof(Kernel, correlation) == 92 && sizeof(Kernel) == 160);

struct Memcpy {
  ActivityKind kind;
  CopyKind copy_kind;
  uint8_t memory_kinds[2];
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
  uint32_t runtime_correlation;
  uint32_t pad;
  void* reserved;
  uint64_t graph_node;
  uint32_t graph;
  uint32_t channel;
};
static_assert(sizeof(Memcpy) == 80);

struct MemcpyPeer {
  ActivityKind kind;
  CopyKind copy_kind;
  uint8_t memory_kinds[2];
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t source_device;
  uint32_t source_context;
  uint32_t target_device;
  uint32_t target_context;
  uint32_t correlation;
  void* reserved;
  uint64_t graph_node;
  uint32_t graph;
  uint32_t channel;
};
static_assert(sizeof(MemcpyPeer) == 88);

struct Memset {
  ActivityKind kind;
  uint32_t value;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
  uint16_t flags;
  uint16_t memory_kind;
  uint32_t pad;
  void* reserved;
  uint64_t graph_node;
  uint32_t graph;
  uint32_t channel;
};
static_assert(sizeof(Memset) == 80);

struct External {
  ActivityKind kind;
  uint32_t external_kind;
  uint64_t external;
  uint32_t correlation;
  uint32_t reserved;
};
static_assert(sizeof(External) == 24);

struct Api {
  ActivityKind kind;
  uint32_t callback_id;
  uint64_t start;
  uint64_t end;
  uint32_t process;
  uint32_t thread;
  uint32_t correlation;
  uint32_t result;
};
static_assert(sizeof(Api) == 40);

struct Synchronization {
  ActivityKind kind;
  SyncType type;
  uint64_t start;
  uint64_t end;
  uint32_t correlation;
  uint32_t context;
  uint32_t stream;
  uint32_t event;
};
static_assert(sizeof(Synchronization) == 40);

struct Overhead {
  ActivityKind kind;
  OverheadKind what;
  uint32_t object_kind;
  uint32_t object[3];  // of a thread: process, thread
  uint64_t start;
  uint64_t end;
};
static_assert(sizeof(Overhead) == 40);

struct GraphTrace {
  ActivityKind kind;
  uint32_t correlation;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t graph;
  uint32_t context;
  uint32_t stream;
};
static_assert(sizeof(GraphTrace) == 40);

struct DeviceInfo {
  ActivityKind kind;
  uint32_t flags;
  uint64_t memory_bandwidth;
  uint64_t memory_bytes;
  uint32_t limits[20];  // not read
  uint32_t capability_major;
  uint32_t capability_minor;
  uint32_t id;
  uint32_t ecc;
  unsigned char uuid[16];
  const char* name;
};
static_assert(sizeof(DeviceInfo) == 144);

struct ContextInfo {
  ActivityKind kind;
  uint32_t context;
  uint32_t device;
  uint16_t api;
  uint16_t null_stream;
};
static_assert(sizeof(ContextInfo) == 16);

struct StreamInfo {
  ActivityKind kind;
  uint32_t context;
  uint32_t stream;
  uint32_t priority;
  uint32_t flag;
  uint32_t correlation;
};
static_assert(sizeof(StreamInfo) == 24);

// --- Callbacks -----------------------------------------------------------------------------------

struct CallbackData {
  uint32_t site;
  const char* function_name;
  const void* parameters;
  void* return_value;
  const char* symbol;
  Context context;
  uint32_t context_id;
  uint64_t* own_data;
  uint32_t correlation;
};
static_assert(sizeof(CallbackData) == 72);

// Parameters of cuEventRecord (also WithFlags), cuStreamWaitEvent and cuEventSynchronize.
struct EventRecordParameters {
  void* event;
  Stream stream;
};
struct StreamWaitParameters {
  Stream stream;
  void* event;
  uint32_t flags;
};
struct EventSynchronizeParameters {
  void* event;
};

using Callback = void (*)(void* user, uint32_t domain, uint32_t callback_id, const CallbackData*);
using RequestBuffer = void (*)(uint8_t** buffer, size_t* bytes, size_t* max_records);
using CompleteBuffer = void (*)(Context, uint32_t stream, uint8_t* buffer, size_t bytes,
                                size_t valid_bytes);
using RequestBuffer2 = void (*)(uint8_t** buffer, size_t* bytes, size_t* max_records, void* info);
using CompleteBuffer2 = void (*)(uint8_t* buffer, size_t bytes, size_t valid_bytes, void* info);
using Timestamp = uint64_t (*)();

// Of cuptiSubscribe_v2. CUDA 13.0 has it up to `other_name_bytes`, 13.3 completely.
struct SubscriberParameters {
  size_t struct_bytes;
  const char* name;
  char* other_name;
  size_t other_name_bytes;
  uint8_t allow_others;
  uint8_t padding[7];
};
static_assert(sizeof(SubscriberParameters) == 40);
inline constexpr size_t kSubscriberParameters130 = 32;
inline constexpr size_t kSubscriberNameBytes = 64;

// --- Numbers of functions (cupti_driver_cbid.h, cupti_runtime_cbid.h)
// ------------------------------

namespace driver {
inline constexpr uint32_t kEventRecord = 119;
inline constexpr uint32_t kEventSynchronize = 121;
inline constexpr uint32_t kStreamWaitEvent = 295;
inline constexpr uint32_t kLaunchKernel = 307;
inline constexpr uint32_t kStreamWaitEventPtsz = 436;
inline constexpr uint32_t kEventRecordPtsz = 441;
inline constexpr uint32_t kLaunchKernelPtsz = 442;
inline constexpr uint32_t kLaunchCooperativeKernel = 477;
inline constexpr uint32_t kLaunchCooperativeKernelPtsz = 478;
inline constexpr uint32_t kGraphLaunch = 514;
inline constexpr uint32_t kGraphLaunchPtsz = 515;
inline constexpr uint32_t kEventRecordWithFlags = 587;
inline constexpr uint32_t kEventRecordWithFlagsPtsz = 588;
inline constexpr uint32_t kLaunchKernelEx = 652;
inline constexpr uint32_t kLaunchKernelExPtsz = 653;
}  // namespace driver

namespace runtime_api {
inline constexpr uint32_t kMemcpy = 31;
inline constexpr uint32_t kMemcpyAsync = 41;
inline constexpr uint32_t kMemset = 49;
inline constexpr uint32_t kMemsetAsync = 51;
inline constexpr uint32_t kStreamSynchronize = 131;
inline constexpr uint32_t kEventSynchronize = 137;
inline constexpr uint32_t kMemcpyPeerAsync = 161;
inline constexpr uint32_t kDeviceSynchronize = 165;
inline constexpr uint32_t kLaunchKernel = 211;
inline constexpr uint32_t kLaunchKernelPtsz = 214;
inline constexpr uint32_t kMemcpyAsyncPtsz = 225;
inline constexpr uint32_t kMemsetAsyncPtsz = 235;
inline constexpr uint32_t kStreamSynchronizePtsz = 239;
inline constexpr uint32_t kLaunchCooperativeKernel = 269;
inline constexpr uint32_t kLaunchCooperativeKernelPtsz = 270;
inline constexpr uint32_t kGraphLaunch = 311;
inline constexpr uint32_t kGraphLaunchPtsz = 312;
inline constexpr uint32_t kLaunchKernelExC = 430;
inline constexpr uint32_t kLaunchKernelExCPtsz = 431;
inline constexpr uint32_t kLaunchKernel13 = 505;
inline constexpr uint32_t kLaunchKernel13Ptsz = 506;
}  // namespace runtime_api

}  // namespace dprof::inject::cupti
