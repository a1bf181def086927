// SPDX-License-Identifier: Apache-2.0
// The records that a process writes into its rings. 64 bytes each; larger ones take continuation
// slots, which hold raw bytes and are published by the same store as the first slot. Fields written
// by a recorded process are untrusted: the recorder copies, checks, then uses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace dprof::wire {

inline constexpr uint32_t kSlotBytes = 64;
inline constexpr uint32_t kPayloadBytes = 48;
inline constexpr uint32_t kMaxSlots = 4;  // of one record, the first included

enum class Kind : uint16_t {
  kNone = 0,               // never written: an all-zero slot is not a record
  kRangeBegin = 1,         // string = name; a range of category nvtx_mark is an instant without end
  kRangeEnd = 2,           // string = 0
  kCollectiveEnqueue = 3,  // string = name of the op ("c10d::allreduce_")
  kCollectiveBegin = 4,    // string = name of the range ("gloo:all_reduce")
  kCollectiveEnd = 5,
  kCommunicator = 6,  // string = name of the process group
  kThreadName = 7,    // string = name
  kSchemaEntry = 8,   // string = name of the field
  kDetail = 9,        // the capture state changed
  // CUDA (gpu_records.h). Times are nanoseconds on the trace's axis: CUPTI stamps with our clock
  // and the fixed scale.
  kDevice = 10,               // string = model name
  kStreamName = 11,           // string = name
  kGpuActivity = 12,          // string = kernel name, or the kind of copy; may carry a KernelShape
  kApiCall = 13,              // string = name of the driver or runtime function
  kExternalCorrelation = 14,  // which NCCL launch a correlation id belongs to
  kGpuEvent = 15,             // event record, stream wait, synchronisation call
  kCuptiOverhead = 16,        // string = what CUPTI was busy with
  kGpuFlush = 18,             // everything that ended before `ticks` has been written
  // NCCL's profiler plugin (nccl_records.h).
  kNcclCommunicator = 30,   // string = name
  kNcclCall = 31,           // string = function: an API call began
  kNcclCollective = 32,     // string = function: a collective was enqueued
  kNcclPointToPoint = 33,   // string = function: a send or receive was enqueued
  kNcclLaunch = 34,         // the kernel launch of a group began
  kNcclKernelChannel = 36,  // option: one channel of a kernel, device times
  kNcclProxy = 37,          // option: one operation of the proxy thread
  // Memory, data and LibTorch's gradient buckets (training_records.h).
  kMemoryEvent = 50,
  kMemorySample = 51,
  kMemoryTag = 52,    // what a block holds
  kBucket = 53,       // a gradient bucket of DDP
  kGroupMember = 54,  // a member of a process group
  kSetting = 55,      // string = "key=value", for meta
};

// The numbers are values of the trace's enumerations (schema/enums.h: RangeCategory, Function,
// DataType, Reduction, Backend, PayloadKind, Source). The wire does not include the schema, so they
// are plain integers here, and a test compares them.
struct RangeBegin {
  int64_t sequence;  // autograd sequence number, -1 = none
  uint64_t key;      // 0: nests on its thread. Otherwise the key of its end, on any thread.
  uint64_t payload;  // the value; for a payload with a schema, its size in bytes in the
                     // continuation slots
  uint64_t schema_id;
  uint32_t domain;  // string id of the NVTX domain, 0 = the default one
  uint32_t color;   // 0xAARRGGBB
  uint32_t nvtx_category;
  uint8_t category;      // RangeCategory
  uint8_t payload_kind;  // PayloadKind
  uint8_t has;           // kHasColor, …
  uint8_t source;        // Source
};
inline constexpr uint8_t kHasColor = 1;
inline constexpr uint8_t kHasNvtxCategory = 2;
inline constexpr uint8_t kPayloadCut = 4;

struct RangeEnd {
  uint64_t key;  // 0: the innermost open range of this thread, category and domain
  uint32_t domain;
  uint8_t category;      // RangeCategory
  uint8_t payload_kind;  // PayloadKind: NCCL gives some payloads at the end only
  uint8_t has;
  uint8_t reserved;
  uint64_t payload;  // as in RangeBegin
  uint64_t schema_id;
  uint64_t reserved_words[2];
};

struct CollectiveEnqueue {
  uint64_t group;     // the communicator's hash, as in its Communicator record
  int64_t bytes;      // of this rank's input, -1 = not known
  int64_t count;      // elements, -1 = not known
  int32_t root;       // -1 = none
  int32_t peer;       // -1 = none
  uint8_t function;   // Function
  uint8_t data_type;  // DataType
  uint8_t reduction;  // Reduction
  uint8_t backend;    // Backend
  uint16_t bucket;    // 1 + index of the gradient bucket it reduces, 0 = not known
  uint8_t reserved[2];
  uint64_t ready_ticks;  // when the bucket's last gradient was ready, 0 = not known
};

struct CollectiveEdge {  // at the begin and at the end
  uint64_t key;          // equal in both; reused afterwards
  uint64_t group;        // 0 = not known
  uint32_t failed;       // at an end: 1 = failed; the record's string is the error text
  uint32_t reserved_word;
  uint64_t reserved[3];
};

struct Communicator {
  uint64_t group;    // equal on all its ranks
  int32_t size;      // -1 = not known
  int32_t own_rank;  // -1 = not known
  uint8_t backend;   // Backend
  uint8_t reserved[7];
  uint64_t reserved_words[3];
};

struct ThreadName {
  uint32_t os_tid;  // 0 = the thread that owns the ring
  uint32_t reserved;
  uint64_t reserved_words[5];
};

struct SchemaEntry {
  uint64_t schema_id;
  uint64_t type;
  uint64_t offset;       // bytes, with natural alignment already applied
  uint32_t domain;       // string id
  uint32_t schema_name;  // string id
  uint32_t index;
  uint32_t flags;   // NVTX_PAYLOAD_ENTRY_FLAG_*
  uint64_t detail;  // array length, string length or union selector
};

struct Detail {
  uint32_t state;    // CaptureState
  uint32_t detail;   // DetailLevel
  uint32_t sources;  // bit mask of Source numbers
  uint32_t cause;    // CaptureCause from the control page
  uint64_t reserved[4];
};

struct Empty {
  uint64_t reserved[6];
};

struct Record {
  Kind kind;
  uint8_t slots;  // 1…kMaxSlots
  uint8_t flags;
  uint32_t string;  // arena id, 0 = none
  uint64_t ticks;
  union {
    RangeBegin range_begin;
    RangeEnd range_end;
    CollectiveEnqueue enqueue;
    CollectiveEdge edge;
    Communicator communicator;
    ThreadName thread_name;
    SchemaEntry schema_entry;
    Detail detail;
    Empty empty;
    unsigned char bytes[kPayloadBytes];
  };
};

// The body of a kind without a member in the union: 48 trivially copyable bytes.
template <typename Body>
[[nodiscard]] inline Body body_of(const Record& record) noexcept {
  static_assert(sizeof(Body) == kPayloadBytes && std::is_trivially_copyable_v<Body>);
  Body body;
  std::memcpy(&body, record.bytes, sizeof body);
  return body;
}
template <typename Body>
inline void set_body(Record& record, const Body& body) noexcept {
  static_assert(sizeof(Body) == kPayloadBytes && std::is_trivially_copyable_v<Body>);
  std::memcpy(record.bytes, &body, sizeof body);
}

static_assert(sizeof(Record) == kSlotBytes && alignof(Record) == 8);
static_assert(offsetof(Record, range_begin) == kSlotBytes - kPayloadBytes);
static_assert(sizeof(RangeBegin) == kPayloadBytes && sizeof(RangeEnd) == kPayloadBytes);
static_assert(sizeof(CollectiveEnqueue) == kPayloadBytes &&
              sizeof(CollectiveEdge) == kPayloadBytes);
static_assert(sizeof(Communicator) == kPayloadBytes && sizeof(SchemaEntry) == kPayloadBytes);
static_assert(sizeof(ThreadName) == kPayloadBytes && sizeof(Detail) == kPayloadBytes);
static_assert(std::is_trivially_copyable_v<Record>);

// A record with its continuation bytes, as the reader hands it out.
struct ReadRecord {
  Record record;
  unsigned char more[(kMaxSlots - 1) * kSlotBytes];
  uint32_t more_bytes;
};

}  // namespace dprof::wire
