// SPDX-License-Identifier: Apache-2.0
// Made by `dprof-schema rows` from schema/tables.h. Do not edit.
// clang-format off
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "schema/tables.h"

namespace dprof::schema {

// What a thread is for.
enum class ThreadRole : int64_t {
  kOther = 0,
  kMain = 1,
  kAutograd = 2,
  kLoader = 3,
  kCommunication = 4,
};
inline std::string_view word_of(ThreadRole value) {
  switch (value) {
    case ThreadRole::kOther:
      return "other";
    case ThreadRole::kMain:
      return "main";
    case ThreadRole::kAutograd:
      return "autograd";
    case ThreadRole::kLoader:
      return "loader";
    case ThreadRole::kCommunication:
      return "communication";
  }
  return "?";
}

// Where a host range comes from.
enum class RangeCategory : int64_t {
  kOp = 0,
  kUser = 1,
  kAutograd = 2,
  kNvtx = 3,
  kNvtxProcess = 4,
  kNvtxMark = 5,
  kApi = 6,
  kOverhead = 7,
  kPython = 8,
};
inline std::string_view word_of(RangeCategory value) {
  switch (value) {
    case RangeCategory::kOp:
      return "op";
    case RangeCategory::kUser:
      return "user";
    case RangeCategory::kAutograd:
      return "autograd";
    case RangeCategory::kNvtx:
      return "nvtx";
    case RangeCategory::kNvtxProcess:
      return "nvtx_process";
    case RangeCategory::kNvtxMark:
      return "nvtx_mark";
    case RangeCategory::kApi:
      return "api";
    case RangeCategory::kOverhead:
      return "overhead";
    case RangeCategory::kPython:
      return "python";
  }
  return "?";
}

// What a device did.
enum class GpuActivityKind : int64_t {
  kKernel = 0,
  kMemcpyH2d = 1,
  kMemcpyD2h = 2,
  kMemcpyD2d = 3,
  kMemset = 4,
  kSync = 5,
  kGraph = 6,
};
inline std::string_view word_of(GpuActivityKind value) {
  switch (value) {
    case GpuActivityKind::kKernel:
      return "kernel";
    case GpuActivityKind::kMemcpyH2d:
      return "memcpy_h2d";
    case GpuActivityKind::kMemcpyD2h:
      return "memcpy_d2h";
    case GpuActivityKind::kMemcpyD2d:
      return "memcpy_d2d";
    case GpuActivityKind::kMemset:
      return "memset";
    case GpuActivityKind::kSync:
      return "sync";
    case GpuActivityKind::kGraph:
      return "graph";
  }
  return "?";
}

// What carries a communicator's data.
enum class Backend : int64_t {
  kUnknown = 0,
  kGloo = 1,
  kNccl = 2,
  kMpi = 3,
  kOther = 4,
};
inline std::string_view word_of(Backend value) {
  switch (value) {
    case Backend::kUnknown:
      return "unknown";
    case Backend::kGloo:
      return "gloo";
    case Backend::kNccl:
      return "nccl";
    case Backend::kMpi:
      return "mpi";
    case Backend::kOther:
      return "other";
  }
  return "?";
}

// What a collective does; the same word whatever the backend calls it.
enum class Function : int64_t {
  kUnknown = 0,
  kAllReduce = 1,
  kReduceScatter = 2,
  kAllGather = 3,
  kBroadcast = 4,
  kReduce = 5,
  kGather = 6,
  kScatter = 7,
  kAllToAll = 8,
  kBarrier = 9,
  kSend = 10,
  kRecv = 11,
};
inline std::string_view word_of(Function value) {
  switch (value) {
    case Function::kUnknown:
      return "unknown";
    case Function::kAllReduce:
      return "all_reduce";
    case Function::kReduceScatter:
      return "reduce_scatter";
    case Function::kAllGather:
      return "all_gather";
    case Function::kBroadcast:
      return "broadcast";
    case Function::kReduce:
      return "reduce";
    case Function::kGather:
      return "gather";
    case Function::kScatter:
      return "scatter";
    case Function::kAllToAll:
      return "all_to_all";
    case Function::kBarrier:
      return "barrier";
    case Function::kSend:
      return "send";
    case Function::kRecv:
      return "recv";
  }
  return "?";
}

// Element type of a collective's data.
enum class DataType : int64_t {
  kUnknown = 0,
  kUint8 = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kFloat16 = 6,
  kBfloat16 = 7,
  kFloat32 = 8,
  kFloat64 = 9,
  kBool = 10,
  kComplex64 = 11,
  kComplex128 = 12,
  kFloat8 = 13,
};
inline std::string_view word_of(DataType value) {
  switch (value) {
    case DataType::kUnknown:
      return "unknown";
    case DataType::kUint8:
      return "uint8";
    case DataType::kInt8:
      return "int8";
    case DataType::kInt16:
      return "int16";
    case DataType::kInt32:
      return "int32";
    case DataType::kInt64:
      return "int64";
    case DataType::kFloat16:
      return "float16";
    case DataType::kBfloat16:
      return "bfloat16";
    case DataType::kFloat32:
      return "float32";
    case DataType::kFloat64:
      return "float64";
    case DataType::kBool:
      return "bool";
    case DataType::kComplex64:
      return "complex64";
    case DataType::kComplex128:
      return "complex128";
    case DataType::kFloat8:
      return "float8";
  }
  return "?";
}

// How a collective combines values.
enum class Reduction : int64_t {
  kNone = 0,
  kSum = 1,
  kAvg = 2,
  kProduct = 3,
  kMin = 4,
  kMax = 5,
  kBitwise = 6,
  kOther = 7,
};
inline std::string_view word_of(Reduction value) {
  switch (value) {
    case Reduction::kNone:
      return "none";
    case Reduction::kSum:
      return "sum";
    case Reduction::kAvg:
      return "avg";
    case Reduction::kProduct:
      return "product";
    case Reduction::kMin:
      return "min";
    case Reduction::kMax:
      return "max";
    case Reduction::kBitwise:
      return "bitwise";
    case Reduction::kOther:
      return "other";
  }
  return "?";
}

// How far a collective got.
enum class CollectiveState : int64_t {
  kEnqueued = 0,
  kRunning = 1,
  kComplete = 2,
  kUnobserved = 3,
  kFailed = 4,
};
inline std::string_view word_of(CollectiveState value) {
  switch (value) {
    case CollectiveState::kEnqueued:
      return "enqueued";
    case CollectiveState::kRunning:
      return "running";
    case CollectiveState::kComplete:
      return "complete";
    case CollectiveState::kUnobserved:
      return "unobserved";
    case CollectiveState::kFailed:
      return "failed";
  }
  return "?";
}

// How a step was found.
enum class StepSource : int64_t {
  kMarker = 1,
  kOptimizer = 2,
  kInferred = 3,
};
inline std::string_view word_of(StepSource value) {
  switch (value) {
    case StepSource::kMarker:
      return "marker";
    case StepSource::kOptimizer:
      return "optimizer";
    case StepSource::kInferred:
      return "inferred";
  }
  return "?";
}

// Which part of dprof recorded it.
enum class Source : int64_t {
  kRecorder = 0,
  kTorch = 1,
  kNvtx = 2,
  kNccl = 3,
  kCuda = 4,
  kSystem = 5,
  kImport = 6,
};
inline std::string_view word_of(Source value) {
  switch (value) {
    case Source::kRecorder:
      return "recorder";
    case Source::kTorch:
      return "torch";
    case Source::kNvtx:
      return "nvtx";
    case Source::kNccl:
      return "nccl";
    case Source::kCuda:
      return "cuda";
    case Source::kSystem:
      return "system";
    case Source::kImport:
      return "import";
  }
  return "?";
}

// Why something was not recorded.
enum class LossReason : int64_t {
  kRingFull = 1,
  kNoRing = 2,
  kArenaFull = 3,
  kUnpairedEnd = 4,
  kBadRecord = 5,
  kDisk = 6,
  kRecorderKilled = 7,
  kTextCut = 8,
  kProcessFork = 9,
  kSkippedRow = 10,
  kCuptiDropped = 11,
  kCuptiQueue = 12,
  kInboxFull = 13,
};
inline std::string_view word_of(LossReason value) {
  switch (value) {
    case LossReason::kRingFull:
      return "ring_full";
    case LossReason::kNoRing:
      return "no_ring";
    case LossReason::kArenaFull:
      return "arena_full";
    case LossReason::kUnpairedEnd:
      return "unpaired_end";
    case LossReason::kBadRecord:
      return "bad_record";
    case LossReason::kDisk:
      return "disk";
    case LossReason::kRecorderKilled:
      return "recorder_killed";
    case LossReason::kTextCut:
      return "text_cut";
    case LossReason::kProcessFork:
      return "process_fork";
    case LossReason::kSkippedRow:
      return "skipped_row";
    case LossReason::kCuptiDropped:
      return "cupti_dropped";
    case LossReason::kCuptiQueue:
      return "cupti_queue";
    case LossReason::kInboxFull:
      return "inbox_full";
  }
  return "?";
}

// How much a diagnostic matters.
enum class Severity : int64_t {
  kInfo = 0,
  kDataLoss = 1,
  kError = 2,
};
inline std::string_view word_of(Severity value) {
  switch (value) {
    case Severity::kInfo:
      return "info";
    case Severity::kDataLoss:
      return "data_loss";
    case Severity::kError:
      return "error";
  }
  return "?";
}

// What happened to memory.
enum class MemoryEventKind : int64_t {
  kAlloc = 0,
  kFree = 1,
  kSegmentAlloc = 2,
  kSegmentFree = 3,
  kOom = 4,
  kRegistered = 5,
};
inline std::string_view word_of(MemoryEventKind value) {
  switch (value) {
    case MemoryEventKind::kAlloc:
      return "alloc";
    case MemoryEventKind::kFree:
      return "free";
    case MemoryEventKind::kSegmentAlloc:
      return "segment_alloc";
    case MemoryEventKind::kSegmentFree:
      return "segment_free";
    case MemoryEventKind::kOom:
      return "oom";
    case MemoryEventKind::kRegistered:
      return "registered";
  }
  return "?";
}

// Type of an NVTX payload.
enum class PayloadKind : int64_t {
  kNone = 0,
  kUint64 = 1,
  kInt64 = 2,
  kDouble = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat = 6,
  kSchema = 7,
};
inline std::string_view word_of(PayloadKind value) {
  switch (value) {
    case PayloadKind::kNone:
      return "none";
    case PayloadKind::kUint64:
      return "uint64";
    case PayloadKind::kInt64:
      return "int64";
    case PayloadKind::kDouble:
      return "double";
    case PayloadKind::kUint32:
      return "uint32";
    case PayloadKind::kInt32:
      return "int32";
    case PayloadKind::kFloat:
      return "float";
    case PayloadKind::kSchema:
      return "schema";
  }
  return "?";
}

// What a block of memory holds.
enum class MemoryCategory : int64_t {
  kUnknown = 0,
  kParameter = 1,
  kGradient = 2,
  kOptimizerState = 3,
  kActivation = 4,
  kBucket = 5,
  kTemporary = 6,
};
inline std::string_view word_of(MemoryCategory value) {
  switch (value) {
    case MemoryCategory::kUnknown:
      return "unknown";
    case MemoryCategory::kParameter:
      return "parameter";
    case MemoryCategory::kGradient:
      return "gradient";
    case MemoryCategory::kOptimizerState:
      return "optimizer_state";
    case MemoryCategory::kActivation:
      return "activation";
    case MemoryCategory::kBucket:
      return "bucket";
    case MemoryCategory::kTemporary:
      return "temporary";
  }
  return "?";
}

// Whether records are taken.
enum class CaptureState : int64_t {
  kOff = 0,
  kArmed = 1,
  kRecording = 2,
  kStopped = 3,
};
inline std::string_view word_of(CaptureState value) {
  switch (value) {
    case CaptureState::kOff:
      return "off";
    case CaptureState::kArmed:
      return "armed";
    case CaptureState::kRecording:
      return "recording";
    case CaptureState::kStopped:
      return "stopped";
  }
  return "?";
}

// How much is recorded.
enum class DetailLevel : int64_t {
  kNone = 0,
  kLight = 1,
  kStandard = 2,
  kFull = 3,
};
inline std::string_view word_of(DetailLevel value) {
  switch (value) {
    case DetailLevel::kNone:
      return "none";
    case DetailLevel::kLight:
      return "light";
    case DetailLevel::kStandard:
      return "standard";
    case DetailLevel::kFull:
      return "full";
  }
  return "?";
}

// Why the capture changed.
enum class CaptureCause : int64_t {
  kStart = 0,
  kWindow = 1,
  kRequest = 2,
  kGovernor = 3,
  kLoss = 4,
  kTrigger = 5,
};
inline std::string_view word_of(CaptureCause value) {
  switch (value) {
    case CaptureCause::kStart:
      return "start";
    case CaptureCause::kWindow:
      return "window";
    case CaptureCause::kRequest:
      return "request";
    case CaptureCause::kGovernor:
      return "governor";
    case CaptureCause::kLoss:
      return "loss";
    case CaptureCause::kTrigger:
      return "trigger";
  }
  return "?";
}

// What NCCL told beside its collectives.
enum class NcclEventKind : int64_t {
  kChannel = 1,
  kProxy = 2,
};
inline std::string_view word_of(NcclEventKind value) {
  switch (value) {
    case NcclEventKind::kChannel:
      return "channel";
    case NcclEventKind::kProxy:
      return "proxy";
  }
  return "?";
}

// Whose frames they are.
enum class StackKind : int64_t {
  kNative = 1,
  kPython = 2,
};
inline std::string_view word_of(StackKind value) {
  switch (value) {
    case StackKind::kNative:
      return "native";
    case StackKind::kPython:
      return "python";
  }
  return "?";
}

// Facts about the recording: one key, one value.
struct MetaRow {
  static constexpr const Table& kTable = kTables[0];
  std::string key{};
  std::string value{};

  friend bool operator==(const MetaRow&, const MetaRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, MetaRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.key);
  visit(row.value);
}

// Texts, each once.
struct StringRow {
  static constexpr const Table& kTable = kTables[1];
  int64_t id{};
  std::string value{};

  friend bool operator==(const StringRow&, const StringRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, StringRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.value);
}

// Threads of the process that recorded something.
struct ThreadRow {
  static constexpr const Table& kTable = kTables[2];
  int64_t id{};
  int64_t os_tid{};
  std::optional<int64_t> name_id{};
  ThreadRole role{};

  friend bool operator==(const ThreadRow&, const ThreadRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, ThreadRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.os_tid);
  visit(row.name_id);
  visit(row.role);
}

// GPUs that the process used.
struct DeviceRow {
  static constexpr const Table& kTable = kTables[3];
  int64_t id{};
  std::optional<std::string> uuid{};
  std::optional<int64_t> name_id{};
  std::optional<int64_t> memory_bytes{};
  std::optional<int64_t> compute_capability{};

  friend bool operator==(const DeviceRow&, const DeviceRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, DeviceRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.uuid);
  visit(row.name_id);
  visit(row.memory_bytes);
  visit(row.compute_capability);
}

// Streams of those GPUs.
struct StreamRow {
  static constexpr const Table& kTable = kTables[4];
  int64_t id{};
  int64_t device_id{};
  int64_t cuda_stream{};
  std::optional<int64_t> name_id{};

  friend bool operator==(const StreamRow&, const StreamRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, StreamRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.device_id);
  visit(row.cuda_stream);
  visit(row.name_id);
}

// What host threads did: ops, user ranges, autograd nodes, NVTX ranges, API calls.
struct HostRangeRow {
  static constexpr const Table& kTable = kTables[5];
  int64_t id{};
  int64_t thread_id{};
  int64_t start_ns{};
  std::optional<int64_t> duration_ns{};
  int64_t name_id{};
  RangeCategory category{};
  std::optional<int64_t> sequence{};
  std::optional<int64_t> correlation{};

  friend bool operator==(const HostRangeRow&, const HostRangeRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, HostRangeRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.thread_id);
  visit(row.start_ns);
  visit(row.duration_ns);
  visit(row.name_id);
  visit(row.category);
  visit(row.sequence);
  visit(row.correlation);
}

// What some ranges carry besides: NVTX domain, colour, category and payload.
struct RangeDetailRow {
  static constexpr const Table& kTable = kTables[6];
  int64_t range_id{};
  std::optional<int64_t> domain_id{};
  std::optional<int64_t> color{};
  std::optional<int64_t> nvtx_category{};
  PayloadKind payload_kind{};
  std::optional<std::string> payload{};
  std::optional<int64_t> schema_id{};

  friend bool operator==(const RangeDetailRow&, const RangeDetailRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, RangeDetailRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.range_id);
  visit(row.domain_id);
  visit(row.color);
  visit(row.nvtx_category);
  visit(row.payload_kind);
  visit(row.payload);
  visit(row.schema_id);
}

// Payload schemas that the program registered with NVTX, one row per field.
struct NvtxSchemaRow {
  static constexpr const Table& kTable = kTables[7];
  std::optional<int64_t> domain_id{};
  int64_t schema_id{};
  std::optional<int64_t> name_id{};
  int64_t entry_index{};
  std::optional<int64_t> entry_name_id{};
  int64_t entry_type{};
  int64_t entry_offset{};
  std::optional<int64_t> entry_flags{};
  std::optional<int64_t> entry_detail{};

  friend bool operator==(const NvtxSchemaRow&, const NvtxSchemaRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, NvtxSchemaRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.domain_id);
  visit(row.schema_id);
  visit(row.name_id);
  visit(row.entry_index);
  visit(row.entry_name_id);
  visit(row.entry_type);
  visit(row.entry_offset);
  visit(row.entry_flags);
  visit(row.entry_detail);
}

// What devices did: kernels, copies, memsets, synchronisations.
struct GpuActivityRow {
  static constexpr const Table& kTable = kTables[8];
  int64_t id{};
  int64_t device_id{};
  int64_t stream_id{};
  int64_t start_ns{};
  std::optional<int64_t> duration_ns{};
  int64_t name_id{};
  GpuActivityKind kind{};
  std::optional<int64_t> bytes{};
  std::optional<int64_t> correlation{};
  std::optional<int64_t> graph_node{};
  std::optional<int64_t> graph{};

  friend bool operator==(const GpuActivityRow&, const GpuActivityRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, GpuActivityRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.device_id);
  visit(row.stream_id);
  visit(row.start_ns);
  visit(row.duration_ns);
  visit(row.name_id);
  visit(row.kind);
  visit(row.bytes);
  visit(row.correlation);
  visit(row.graph_node);
  visit(row.graph);
}

// Which stream waited for which, through an event.
struct GpuDependencyRow {
  static constexpr const Table& kTable = kTables[9];
  int64_t id{};
  int64_t event{};
  std::optional<int64_t> record_stream_id{};
  std::optional<int64_t> wait_stream_id{};
  std::optional<int64_t> record_ns{};
  std::optional<int64_t> wait_ns{};
  std::optional<int64_t> correlation{};

  friend bool operator==(const GpuDependencyRow&, const GpuDependencyRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, GpuDependencyRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.event);
  visit(row.record_stream_id);
  visit(row.wait_stream_id);
  visit(row.record_ns);
  visit(row.wait_ns);
  visit(row.correlation);
}

// Groups of ranks that this process is in.
struct CommunicatorRow {
  static constexpr const Table& kTable = kTables[10];
  int64_t id{};
  int64_t hash{};
  int64_t ordinal{};
  Backend backend{};
  std::optional<int64_t> size{};
  std::optional<int64_t> own_rank{};
  std::optional<int64_t> name_id{};

  friend bool operator==(const CommunicatorRow&, const CommunicatorRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, CommunicatorRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.hash);
  visit(row.ordinal);
  visit(row.backend);
  visit(row.size);
  visit(row.own_rank);
  visit(row.name_id);
}

// Global ranks of a communicator's members, where they are known.
struct CommunicatorMemberRow {
  static constexpr const Table& kTable = kTables[11];
  int64_t communicator_id{};
  int64_t member{};
  int64_t rank{};

  friend bool operator==(const CommunicatorMemberRow&, const CommunicatorMemberRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, CommunicatorMemberRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.communicator_id);
  visit(row.member);
  visit(row.rank);
}

// This rank's part of each collective.
struct CollectiveRow {
  static constexpr const Table& kTable = kTables[12];
  int64_t id{};
  std::optional<int64_t> communicator_id{};
  Function function{};
  std::optional<int64_t> sequence{};
  std::optional<int64_t> group_sequence{};
  std::optional<int64_t> bytes{};
  std::optional<int64_t> count{};
  DataType dtype{};
  std::optional<int64_t> root{};
  std::optional<int64_t> peer{};
  Reduction reduction{};
  std::optional<int64_t> enqueue_ns{};
  std::optional<int64_t> start_ns{};
  std::optional<int64_t> end_ns{};
  CollectiveState state{};
  std::optional<std::string> algorithm{};
  std::optional<std::string> protocol{};
  std::optional<int64_t> channels{};
  std::optional<int64_t> stream_id{};
  std::optional<int64_t> bucket{};
  int64_t captured{};
  std::optional<int64_t> thread_id{};
  std::optional<int64_t> enqueue_thread_id{};
  std::optional<int64_t> ready_ns{};
  std::optional<int64_t> correlation{};
  std::optional<Source> source{};

  friend bool operator==(const CollectiveRow&, const CollectiveRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, CollectiveRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.communicator_id);
  visit(row.function);
  visit(row.sequence);
  visit(row.group_sequence);
  visit(row.bytes);
  visit(row.count);
  visit(row.dtype);
  visit(row.root);
  visit(row.peer);
  visit(row.reduction);
  visit(row.enqueue_ns);
  visit(row.start_ns);
  visit(row.end_ns);
  visit(row.state);
  visit(row.algorithm);
  visit(row.protocol);
  visit(row.channels);
  visit(row.stream_id);
  visit(row.bucket);
  visit(row.captured);
  visit(row.thread_id);
  visit(row.enqueue_thread_id);
  visit(row.ready_ns);
  visit(row.correlation);
  visit(row.source);
}

// Training steps of this rank, in order; they never overlap.
struct StepRow {
  static constexpr const Table& kTable = kTables[13];
  int64_t step_index{};
  int64_t start_ns{};
  std::optional<int64_t> end_ns{};
  StepSource source{};

  friend bool operator==(const StepRow&, const StepRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, StepRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.step_index);
  visit(row.start_ns);
  visit(row.end_ns);
  visit(row.source);
}

// Allocations and frees.
struct MemoryEventRow {
  static constexpr const Table& kTable = kTables[14];
  int64_t id{};
  std::optional<int64_t> thread_id{};
  int64_t device_id{};
  int64_t time_ns{};
  MemoryEventKind kind{};
  int64_t address{};
  int64_t bytes{};
  std::optional<int64_t> stream_id{};
  std::optional<int64_t> allocated_bytes{};
  std::optional<int64_t> reserved_bytes{};
  std::optional<int64_t> requested_bytes{};
  std::optional<MemoryCategory> category{};
  std::optional<int64_t> stack_id{};

  friend bool operator==(const MemoryEventRow&, const MemoryEventRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, MemoryEventRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.thread_id);
  visit(row.device_id);
  visit(row.time_ns);
  visit(row.kind);
  visit(row.address);
  visit(row.bytes);
  visit(row.stream_id);
  visit(row.allocated_bytes);
  visit(row.reserved_bytes);
  visit(row.requested_bytes);
  visit(row.category);
  visit(row.stack_id);
}

// Memory in use, by time or step.
struct MemorySampleRow {
  static constexpr const Table& kTable = kTables[15];
  int64_t id{};
  int64_t time_ns{};
  int64_t device_id{};
  std::optional<int64_t> step_index{};
  std::optional<int64_t> allocated_bytes{};
  std::optional<int64_t> reserved_bytes{};
  std::optional<int64_t> peak_allocated_bytes{};
  std::optional<int64_t> peak_reserved_bytes{};
  std::optional<int64_t> largest_free_bytes{};

  friend bool operator==(const MemorySampleRow&, const MemorySampleRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, MemorySampleRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.time_ns);
  visit(row.device_id);
  visit(row.step_index);
  visit(row.allocated_bytes);
  visit(row.reserved_bytes);
  visit(row.peak_allocated_bytes);
  visit(row.peak_reserved_bytes);
  visit(row.largest_free_bytes);
}

// Waits for a batch of data.
struct LoaderEventRow {
  static constexpr const Table& kTable = kTables[16];
  int64_t id{};
  int64_t thread_id{};
  int64_t start_ns{};
  std::optional<int64_t> duration_ns{};
  std::optional<int64_t> queue_depth{};
  std::optional<std::string> batch_shape{};
  std::optional<int64_t> index_hash{};
  std::optional<int64_t> epoch{};

  friend bool operator==(const LoaderEventRow&, const LoaderEventRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, LoaderEventRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.thread_id);
  visit(row.start_ns);
  visit(row.duration_ns);
  visit(row.queue_depth);
  visit(row.batch_shape);
  visit(row.index_hash);
  visit(row.epoch);
}

// One moment on three clocks.
struct ClockSampleRow {
  static constexpr const Table& kTable = kTables[17];
  int64_t id{};
  int64_t ticks{};
  int64_t realtime_ns{};
  int64_t monotonic_raw_ns{};
  int64_t width_ns{};
  std::optional<int64_t> device_id{};
  std::optional<int64_t> device_ns{};

  friend bool operator==(const ClockSampleRow&, const ClockSampleRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, ClockSampleRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.ticks);
  visit(row.realtime_ns);
  visit(row.monotonic_raw_ns);
  visit(row.width_ns);
  visit(row.device_id);
  visit(row.device_ns);
}

// Four-timestamp probes between the recorders of two hosts.
struct ClockProbeRow {
  static constexpr const Table& kTable = kTables[18];
  int64_t id{};
  std::string peer{};
  int64_t send_ns{};
  int64_t peer_receive_ns{};
  int64_t peer_reply_ns{};
  int64_t receive_ns{};

  friend bool operator==(const ClockProbeRow&, const ClockProbeRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, ClockProbeRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.peer);
  visit(row.send_ns);
  visit(row.peer_receive_ns);
  visit(row.peer_reply_ns);
  visit(row.receive_ns);
}

// What the recorder read from the system.
struct SystemSampleRow {
  static constexpr const Table& kTable = kTables[19];
  int64_t id{};
  int64_t time_ns{};
  int64_t kind_id{};
  std::optional<int64_t> subject{};
  int64_t value{};

  friend bool operator==(const SystemSampleRow&, const SystemSampleRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, SystemSampleRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.time_ns);
  visit(row.kind_id);
  visit(row.subject);
  visit(row.value);
}

// What was being recorded when: where nothing was, an absence of rows means nothing.
struct CaptureRow {
  static constexpr const Table& kTable = kTables[20];
  int64_t id{};
  int64_t time_ns{};
  CaptureState state{};
  DetailLevel detail{};
  int64_t sources{};
  CaptureCause cause{};

  friend bool operator==(const CaptureRow&, const CaptureRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, CaptureRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.time_ns);
  visit(row.state);
  visit(row.detail);
  visit(row.sources);
  visit(row.cause);
}

// Launch dimensions of kernels, at detail full.
struct KernelShapeRow {
  static constexpr const Table& kTable = kTables[21];
  int64_t activity_id{};
  int64_t grid_x{};
  int64_t grid_y{};
  int64_t grid_z{};
  int64_t block_x{};
  int64_t block_y{};
  int64_t block_z{};
  int64_t registers{};
  int64_t static_shared_bytes{};
  int64_t dynamic_shared_bytes{};

  friend bool operator==(const KernelShapeRow&, const KernelShapeRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, KernelShapeRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.activity_id);
  visit(row.grid_x);
  visit(row.grid_y);
  visit(row.grid_z);
  visit(row.block_x);
  visit(row.block_y);
  visit(row.block_z);
  visit(row.registers);
  visit(row.static_shared_bytes);
  visit(row.dynamic_shared_bytes);
}

// Channels and proxy operations of NCCL, where they were asked for.
struct NcclEventRow {
  static constexpr const Table& kTable = kTables[22];
  int64_t id{};
  std::optional<int64_t> collective_id{};
  NcclEventKind kind{};
  int64_t channel{};
  std::optional<int64_t> peer{};
  std::optional<int64_t> is_send{};
  std::optional<int64_t> bytes{};
  std::optional<int64_t> steps{};
  int64_t start_ns{};
  std::optional<int64_t> duration_ns{};
  std::optional<int64_t> device_start_ns{};
  std::optional<int64_t> device_end_ns{};

  friend bool operator==(const NcclEventRow&, const NcclEventRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, NcclEventRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.collective_id);
  visit(row.kind);
  visit(row.channel);
  visit(row.peer);
  visit(row.is_send);
  visit(row.bytes);
  visit(row.steps);
  visit(row.start_ns);
  visit(row.duration_ns);
  visit(row.device_start_ns);
  visit(row.device_end_ns);
}

// Stacks of all threads, taken while the job hung (`--on-hang stacks`).
struct StackFrameRow {
  static constexpr const Table& kTable = kTables[23];
  int64_t id{};
  int64_t time_ns{};
  std::optional<int64_t> os_tid{};
  std::optional<int64_t> thread_name_id{};
  StackKind kind{};
  int64_t frame{};
  int64_t function_id{};
  std::optional<int64_t> file_id{};
  std::optional<int64_t> line{};

  friend bool operator==(const StackFrameRow&, const StackFrameRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, StackFrameRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.time_ns);
  visit(row.os_tid);
  visit(row.thread_name_id);
  visit(row.kind);
  visit(row.frame);
  visit(row.function_id);
  visit(row.file_id);
  visit(row.line);
}

// Stacks of allocations, as a tree: what two have in common stands once.
struct CallStackRow {
  static constexpr const Table& kTable = kTables[24];
  int64_t id{};
  std::optional<int64_t> caller_id{};
  int64_t function_id{};
  std::optional<int64_t> file_id{};
  std::optional<int64_t> line{};

  friend bool operator==(const CallStackRow&, const CallStackRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, CallStackRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.caller_id);
  visit(row.function_id);
  visit(row.file_id);
  visit(row.line);
}

// What was not recorded, and why.
struct LossRow {
  static constexpr const Table& kTable = kTables[25];
  Source source{};
  std::optional<int64_t> thread_id{};
  LossReason reason{};
  int64_t count{};
  std::optional<int64_t> first_ns{};
  std::optional<int64_t> last_ns{};

  friend bool operator==(const LossRow&, const LossRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, LossRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.source);
  visit(row.thread_id);
  visit(row.reason);
  visit(row.count);
  visit(row.first_ns);
  visit(row.last_ns);
}

// What the recorder had to remark.
struct DiagnosticRow {
  static constexpr const Table& kTable = kTables[26];
  std::string code{};
  Severity severity{};
  int64_t count{};
  int64_t text_id{};

  friend bool operator==(const DiagnosticRow&, const DiagnosticRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, DiagnosticRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.code);
  visit(row.severity);
  visit(row.count);
  visit(row.text_id);
}

// What differs from one collective to the next.
struct PackedCollectiveRow {
  static constexpr const Table& kTable = kTablesBehindViews[0];
  int64_t id{};
  int64_t traits_id{};
  std::optional<int64_t> sequence{};
  std::optional<int64_t> group_sequence{};
  std::optional<int64_t> bytes{};
  std::optional<int64_t> count{};
  std::optional<int64_t> enqueue_ns{};
  std::optional<int64_t> start_after_ns{};
  std::optional<int64_t> end_after_ns{};
  std::optional<int64_t> ready_after_ns{};
  std::optional<int64_t> correlation{};

  friend bool operator==(const PackedCollectiveRow&, const PackedCollectiveRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, PackedCollectiveRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.traits_id);
  visit(row.sequence);
  visit(row.group_sequence);
  visit(row.bytes);
  visit(row.count);
  visit(row.enqueue_ns);
  visit(row.start_after_ns);
  visit(row.end_after_ns);
  visit(row.ready_after_ns);
  visit(row.correlation);
}

// What collectives have in common; two rows may be equal.
struct CollectiveTraitsRow {
  static constexpr const Table& kTable = kTablesBehindViews[1];
  int64_t id{};
  std::optional<int64_t> communicator_id{};
  Function function{};
  DataType dtype{};
  std::optional<int64_t> root{};
  std::optional<int64_t> peer{};
  Reduction reduction{};
  CollectiveState state{};
  std::optional<std::string> algorithm{};
  std::optional<std::string> protocol{};
  std::optional<int64_t> channels{};
  std::optional<int64_t> stream_id{};
  std::optional<int64_t> bucket{};
  int64_t captured{};
  std::optional<int64_t> thread_id{};
  std::optional<int64_t> enqueue_thread_id{};
  std::optional<Source> source{};
  int64_t relative{};
  std::optional<int64_t> bytes_per_count{};

  friend bool operator==(const CollectiveTraitsRow&, const CollectiveTraitsRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, CollectiveTraitsRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.communicator_id);
  visit(row.function);
  visit(row.dtype);
  visit(row.root);
  visit(row.peer);
  visit(row.reduction);
  visit(row.state);
  visit(row.algorithm);
  visit(row.protocol);
  visit(row.channels);
  visit(row.stream_id);
  visit(row.bucket);
  visit(row.captured);
  visit(row.thread_id);
  visit(row.enqueue_thread_id);
  visit(row.source);
  visit(row.relative);
  visit(row.bytes_per_count);
}

// What differs from one activity to the next.
struct PackedGpuActivityRow {
  static constexpr const Table& kTable = kTablesBehindViews[2];
  int64_t id{};
  int64_t traits_id{};
  int64_t start_ns{};
  std::optional<int64_t> duration_ns{};
  std::optional<int64_t> correlation{};

  friend bool operator==(const PackedGpuActivityRow&, const PackedGpuActivityRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, PackedGpuActivityRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.traits_id);
  visit(row.start_ns);
  visit(row.duration_ns);
  visit(row.correlation);
}

// What activities have in common; two rows may be equal.
struct GpuActivityTraitsRow {
  static constexpr const Table& kTable = kTablesBehindViews[3];
  int64_t id{};
  int64_t device_id{};
  int64_t stream_id{};
  int64_t name_id{};
  GpuActivityKind kind{};
  std::optional<int64_t> bytes{};
  std::optional<int64_t> graph_node{};
  std::optional<int64_t> graph{};
  std::optional<int64_t> grid_x{};
  std::optional<int64_t> grid_y{};
  std::optional<int64_t> grid_z{};
  std::optional<int64_t> block_x{};
  std::optional<int64_t> block_y{};
  std::optional<int64_t> block_z{};
  std::optional<int64_t> registers{};
  std::optional<int64_t> static_shared_bytes{};
  std::optional<int64_t> dynamic_shared_bytes{};

  friend bool operator==(const GpuActivityTraitsRow&, const GpuActivityTraitsRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, GpuActivityTraitsRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.id);
  visit(row.device_id);
  visit(row.stream_id);
  visit(row.name_id);
  visit(row.kind);
  visit(row.bytes);
  visit(row.graph_node);
  visit(row.graph);
  visit(row.grid_x);
  visit(row.grid_y);
  visit(row.grid_z);
  visit(row.block_x);
  visit(row.block_y);
  visit(row.block_z);
  visit(row.registers);
  visit(row.static_shared_bytes);
  visit(row.dynamic_shared_bytes);
}

// Members of a communicator whose ranks are equally far apart.
struct CommunicatorMembersRow {
  static constexpr const Table& kTable = kTablesBehindViews[4];
  int64_t communicator_id{};
  int64_t member{};
  int64_t rank{};
  int64_t count{};
  int64_t stride{};

  friend bool operator==(const CommunicatorMembersRow&, const CommunicatorMembersRow&) = default;
};
template <typename RowOrConst, typename Visit>
  requires std::is_same_v<std::remove_const_t<RowOrConst>, CommunicatorMembersRow>
void for_each_field(RowOrConst& row, Visit&& visit) {
  visit(row.communicator_id);
  visit(row.member);
  visit(row.rank);
  visit(row.count);
  visit(row.stride);
}

// Calls visit.template operator()<Row>() for each row type, in the order of kTables.
template <typename Visit>
void for_each_row_type(Visit&& visit) {
  visit.template operator()<MetaRow>();
  visit.template operator()<StringRow>();
  visit.template operator()<ThreadRow>();
  visit.template operator()<DeviceRow>();
  visit.template operator()<StreamRow>();
  visit.template operator()<HostRangeRow>();
  visit.template operator()<RangeDetailRow>();
  visit.template operator()<NvtxSchemaRow>();
  visit.template operator()<GpuActivityRow>();
  visit.template operator()<GpuDependencyRow>();
  visit.template operator()<CommunicatorRow>();
  visit.template operator()<CommunicatorMemberRow>();
  visit.template operator()<CollectiveRow>();
  visit.template operator()<StepRow>();
  visit.template operator()<MemoryEventRow>();
  visit.template operator()<MemorySampleRow>();
  visit.template operator()<LoaderEventRow>();
  visit.template operator()<ClockSampleRow>();
  visit.template operator()<ClockProbeRow>();
  visit.template operator()<SystemSampleRow>();
  visit.template operator()<CaptureRow>();
  visit.template operator()<KernelShapeRow>();
  visit.template operator()<NcclEventRow>();
  visit.template operator()<StackFrameRow>();
  visit.template operator()<CallStackRow>();
  visit.template operator()<LossRow>();
  visit.template operator()<DiagnosticRow>();
}

}  // namespace dprof::schema
