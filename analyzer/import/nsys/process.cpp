// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nsys/process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "analyzer/import/kineto/words.h"
#include "analyzer/import/nsys/skips.h"
#include "analyzer/import/nsys/words.h"

namespace dprof::analyzer::nsys {
namespace {

using schema::GpuActivityKind;
using schema::PayloadKind;
using schema::RangeCategory;

constexpr int64_t kNone = 4294967295;  // of a stream or event: not applicable
constexpr int64_t kNotReady = 600;     // the result of a poll, no error

// The column positions; start, end and process come first in all tables.
enum : int { kStart, kEnd, kProcess, kFirst };

namespace kernel_column {
enum : int {
  kDevice = kFirst,
  kContext,
  kStream,
  kCorrelation,
  kDemangled,
  kShort,
  kMangled,
  kGridX,
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kRegisters,
  kStatic,
  kDynamic,
  kNode,
  kGraph
};
}
constexpr std::string_view kKernelColumns[] = {"start",
                                               "end",
                                               "globalPid",
                                               "deviceId",
                                               "contextId",
                                               "streamId",
                                               "correlationId",
                                               "demangledName",
                                               "shortName",
                                               "mangledName",
                                               "gridX",
                                               "gridY",
                                               "gridZ",
                                               "blockX",
                                               "blockY",
                                               "blockZ",
                                               "registersPerThread",
                                               "staticSharedMemory",
                                               "dynamicSharedMemory",
                                               "graphNodeId",
                                               "graphId"};

namespace copy_column {
enum : int {
  kDevice = kFirst,
  kContext,
  kStream,
  kCorrelation,
  kBytes,
  kKind,
  kSource,
  kTarget,
  kNode
};
}
constexpr std::string_view kCopyColumns[] = {
    "start",         "end",   "globalPid", "deviceId", "contextId", "streamId",
    "correlationId", "bytes", "copyKind",  "srcKind",  "dstKind",   "graphNodeId"};

namespace memset_column {
enum : int { kDevice = kFirst, kContext, kStream, kCorrelation, kBytes, kMemory, kNode };
}
constexpr std::string_view kMemsetColumns[] = {
    "start",    "end",           "globalPid", "deviceId", "contextId",
    "streamId", "correlationId", "bytes",     "memKind",  "graphNodeId"};

namespace graph_column {
enum : int { kDevice = kFirst, kContext, kStream, kCorrelation, kGraph, kExec };
}
constexpr std::string_view kGraphColumns[] = {"start",         "end",       "globalPid",
                                              "deviceId",      "contextId", "streamId",
                                              "correlationId", "graphId",   "graphExecId"};

namespace sync_column {
enum : int { kDevice = kFirst, kContext, kStream, kCorrelation, kType, kOldType, kEvent, kSyncId };
}
constexpr std::string_view kSyncColumns[] = {
    "start",         "end",      "globalPid",          "deviceId", "contextId",  "streamId",
    "correlationId", "syncType", "deprecatedSyncType", "eventId",  "eventSyncId"};

namespace event_column {
enum : int { kDevice = kFirst, kContext, kStream, kCorrelation, kEvent, kSyncId };
}
constexpr std::string_view kEventColumns[] = {"timestamp",     "timestamp", "globalPid",
                                              "deviceId",      "contextId", "streamId",
                                              "correlationId", "eventId",   "eventSyncId"};

namespace api_column {
enum : int { kCorrelation = kFirst, kName, kReturned };
}
constexpr std::string_view kApiColumns[] = {"start",         "end",    "globalTid",
                                            "correlationId", "nameId", "returnValue"};

namespace nvtx_column {
enum : int {
  kType = kFirst,
  kText,
  kTextId,
  kDomain,
  kColor,
  kCategory,
  kUint64,
  kInt64,
  kDouble,
  kUint32,
  kInt32,
  kFloat,
  kJson,
  kJsonId,
  kBinary
};
}
constexpr std::string_view kNvtxColumns[] = {
    "start",       "end",        "globalTid",  "eventType",   "text",       "textId",
    "domainId",    "color",      "category",   "uint64Value", "int64Value", "doubleValue",
    "uint32Value", "int32Value", "floatValue", "jsonText",    "jsonTextId", "binaryData"};

namespace overhead_column {
enum : int { kName = kFirst, kType };
}
constexpr std::string_view kOverheadColumns[] = {"start", "end", "globalTid", "nameId",
                                                 "overheadType"};

namespace memory_column {
enum : int { kDevice = kFirst, kBytes, kAddress, kOperation, kKind };
}
constexpr std::string_view kMemoryColumns[] = {
    "start", "start",   "globalPid",           "deviceId",
    "bytes", "address", "memoryOperationType", "memKind"};

constexpr TableReader kReaders[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", kKernelColumns, &Process::kernel},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", kCopyColumns, &Process::copy},
    {"CUPTI_ACTIVITY_KIND_MEMSET", kMemsetColumns, &Process::memset},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", kGraphColumns, &Process::graph},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", kSyncColumns, &Process::sync},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", kEventColumns, &Process::event},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", kApiColumns, &Process::api},
    {"NVTX_EVENTS", kNvtxColumns, &Process::nvtx},
    {"PROFILER_OVERHEAD", kOverheadColumns, &Process::overhead, false},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", kOverheadColumns, &Process::overhead, false},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS", kMemoryColumns, &Process::memory, false},
};

std::optional<int64_t> positive(std::optional<int64_t> value) {
  return value.value_or(0) > 0 ? value : std::nullopt;
}

// 4294967295 corresponds to Kineto's -1.
int64_t stream_number(std::optional<int64_t> stream) {
  return stream.value_or(0) == kNone ? -1 : stream.value_or(0);
}

template <typename Number>
std::string bytes_of_number(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = static_cast<char>(c | 0x20);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

// The column holds bytes, or their hexadecimal digits.
std::string binary(std::string_view column) {
  const bool hex = column.size() % 2 == 0 &&
                   std::ranges::all_of(column, [](char c) { return digit_of(c) >= 0; });
  if (!hex) return std::string(column);
  std::string bytes;
  for (size_t i = 0; i < column.size(); i += 2)
    bytes += static_cast<char>(digit_of(column[i]) * 16 + digit_of(column[i + 1]));
  return bytes;
}

bool names_nccl_call(std::string_view name) {
  return name.size() > 4 && name.starts_with("nccl") && name[4] >= 'A' && name[4] <= 'Z';
}

}  // namespace

std::span<const TableReader> table_readers() { return kReaders; }

std::optional<Process::Span> Process::span(const Row& row) {
  const std::optional<int64_t> start = session_.time(row[kStart]);
  if (!start) {
    sink_.skip(kNoTime);
    return std::nullopt;
  }
  const std::optional<int64_t> end = session_.time(row[kEnd]);
  if (!end || *end < *start) {
    sink_.skip(kNoEnd, start);
    return std::nullopt;
  }
  return Span{*start, *end - *start};
}

int64_t Process::stream(int64_t device, const Row& row, int column) {
  const int64_t context = row[column].value_or(0);
  const int64_t number = stream_number(row[column + 1]);
  const auto [entry, is_new] = streams_.try_emplace({device, context, number});
  if (!is_new) return entry->second;
  if (number >= 0) first_device_ = std::min(first_device_.value_or(device), device);
  const int64_t id = entry->second = sink_.stream(device, number, context);
  const int64_t pid = pid_of(id_);
  const auto null = session_.null_streams.find({pid, context});
  auto named = session_.stream_names.find({pid, context, number});
  if (named == session_.stream_names.end()) named = session_.stream_names.find({pid, 0, number});
  if (named != session_.stream_names.end()) {
    sink_.name_stream(id, named->second);
  } else if (null != session_.null_streams.end() && null->second == number) {
    sink_.name_stream(id, "default stream");
  }
  return id;
}

int64_t Process::thread(std::optional<int64_t> global_id) {
  const int64_t id = global_id.value_or(id_);
  if (last_thread_ >= 0 && id == last_global_tid_) return last_thread_;
  last_global_tid_ = id;
  const auto [entry, is_new] = threads_.try_emplace(id);
  if (is_new) {
    entry->second = sink_.add_thread({.os_tid = tid_of(id)});
    launches_.push_back(0);
  }
  return last_thread_ = entry->second;
}

// The first usable one of `count` columns with string ids.
const Process::Name& Process::name_of(const Row& row, int first, int count) {
  static const Name kNameless;
  for (int column = first; column < first + count; ++column) {
    const std::optional<int64_t> id = row[column];
    if (!id) continue;
    const auto [entry, is_new] = names_.try_emplace(*id);
    if (is_new) {
      const std::string_view name = tables_.string(id);
      entry->second = {sink_.text(name), name, kineto::is_communication_kernel(name)};
    }
    if (!entry->second.name.empty()) return entry->second;
  }
  return kNameless;
}

void Process::kernel(const Row& row) {
  using namespace kernel_column;
  const std::optional<Span> at = span(row);
  if (!at) return;
  const Name& name = name_of(row, kDemangled, 3);
  const int64_t device = std::clamp<int64_t>(row[kDevice].value_or(0), -1, INT32_MAX);
  const schema::GpuActivityRow activity{.device_id = device,
                                        .stream_id = stream(device, row, kContext),
                                        .start_ns = at->start,
                                        .duration_ns = at->duration,
                                        .name_id = name.text,
                                        .kind = GpuActivityKind::kKernel,
                                        .correlation = positive(row[kCorrelation]),
                                        .graph_node = positive(row[kNode]),
                                        .graph = positive(row[kGraph])};
  if (name.is_nccl) {
    nccl_.add_kernel(activity, name.name);
    if (activity.correlation) apis_.try_emplace(*activity.correlation);
  }
  std::optional<schema::KernelShapeRow> shape;
  if (row.has(kGridX) && row.has(kBlockX)) {
    const auto number = [&](int column) { return row[column].value_or(0); };
    shape = schema::KernelShapeRow{.grid_x = number(kGridX),
                                   .grid_y = number(kGridY),
                                   .grid_z = number(kGridZ),
                                   .block_x = number(kBlockX),
                                   .block_y = number(kBlockY),
                                   .block_z = number(kBlockZ),
                                   .registers = number(kRegisters),
                                   .static_shared_bytes = number(kStatic),
                                   .dynamic_shared_bytes = number(kDynamic)};
  }
  sink_.add(activity, shape);
}

void Process::copy(const Row& row) {
  using namespace copy_column;
  const std::optional<Span> at = span(row);
  if (!at) return;
  const int64_t number = row[kKind].value_or(0);
  const std::optional<GpuActivityKind> kind = copy_kind(number, row[kSource], row[kTarget]);
  if (!kind) return sink_.skip(kHostCopies, at->start);
  const int64_t device = std::clamp<int64_t>(row[kDevice].value_or(0), -1, INT32_MAX);
  sink_.add(
      schema::GpuActivityRow{.device_id = device,
                             .stream_id = stream(device, row, kContext),
                             .start_ns = at->start,
                             .duration_ns = at->duration,
                             .name_id = sink_.text(copy_name(number, row[kSource], row[kTarget])),
                             .kind = *kind,
                             .bytes = row[kBytes],
                             .correlation = positive(row[kCorrelation]),
                             .graph_node = positive(row[kNode])});
}

void Process::memset(const Row& row) {
  using namespace memset_column;
  const std::optional<Span> at = span(row);
  if (!at) return;
  const int64_t device = std::clamp<int64_t>(row[kDevice].value_or(0), -1, INT32_MAX);
  sink_.add(schema::GpuActivityRow{.device_id = device,
                                   .stream_id = stream(device, row, kContext),
                                   .start_ns = at->start,
                                   .duration_ns = at->duration,
                                   .name_id = sink_.text(memset_name(row[kMemory])),
                                   .kind = GpuActivityKind::kMemset,
                                   .bytes = row[kBytes],
                                   .correlation = positive(row[kCorrelation]),
                                   .graph_node = positive(row[kNode])});
}

void Process::graph(const Row& row) {
  using namespace graph_column;
  const std::optional<Span> at = span(row);
  if (!at) return;
  const int64_t device = std::clamp<int64_t>(row[kDevice].value_or(0), -1, INT32_MAX);
  const std::optional<int64_t> graph = positive(row[row.has(kGraph) ? kGraph : kExec]);
  ++graphs_;
  sink_.add(schema::GpuActivityRow{
      .device_id = device,
      .stream_id = stream(device, row, kContext),
      .start_ns = at->start,
      .duration_ns = at->duration,
      .name_id = sink_.text(graph ? fmt::format("CUDA graph {}", *graph) : "CUDA graph"),
      .kind = GpuActivityKind::kGraph,
      .correlation = positive(row[kCorrelation]),
      .graph = graph});
}

// Synchronisations have host times: no device is busy then.
void Process::sync(const Row& row) {
  using namespace sync_column;
  const std::optional<Span> at = span(row);
  if (!at) return;
  SyncKind kind = SyncKind::kUnknown;
  if (session_.old_sync_types) {
    kind = old_sync_kind(row[kOldType].value_or(-1));
  } else if (const std::optional<int64_t> type = row[kType]) {
    const auto named = session_.sync_names.find(*type);
    kind = named != session_.sync_names.end() ? named->second : sync_kind(*type);
  }
  const int64_t device = std::clamp<int64_t>(row[kDevice].value_or(0), -1, INT32_MAX);
  const std::optional<int64_t> correlation = positive(row[kCorrelation]);
  if (kind != SyncKind::kEvent && kind != SyncKind::kStreamWait) {
    const std::string_view name = kind == SyncKind::kStream    ? "Stream Sync"
                                  : kind == SyncKind::kContext ? "Context Sync"
                                                               : "Sync";
    sink_.add(schema::GpuActivityRow{.device_id = device,
                                     .stream_id = stream(device, row, kContext),
                                     .start_ns = at->start,
                                     .duration_ns = at->duration,
                                     .name_id = sink_.text(name),
                                     .kind = GpuActivityKind::kSync,
                                     .correlation = correlation});
    return;
  }
  Wait wait{
      .kind = kind,
      .row = {.event = row[kEvent].value_or(0), .wait_ns = at->start, .correlation = correlation},
      .sync_id = row[kSyncId]};
  if (kind == SyncKind::kStreamWait) wait.row.wait_stream_id = stream(device, row, kContext);
  if (wait.sync_id.value_or(0) == kNone || wait.sync_id == 0) wait.sync_id.reset();
  if (correlation) apis_.try_emplace(*correlation);
  waits_.push_back(wait);
}

void Process::event(const Row& row) {
  using namespace event_column;
  const int64_t device = std::clamp<int64_t>(row[kDevice].value_or(0), -1, INT32_MAX);
  const Record record{.stream = stream(device, row, kContext),
                      .correlation = row[kCorrelation].value_or(0),
                      .event = row[kEvent].value_or(0)};
  sink_.used();
  if (record.correlation != 0) apis_.try_emplace(record.correlation);
  const int64_t id = row[kSyncId].value_or(0);
  if (id != 0 && id != kNone) records_.insert_or_assign(id, record);
  of_event_[record.event].push_back(record);
}

const Process::ApiName& Process::api_name(std::optional<int64_t> id) {
  const auto [entry, is_new] = api_names_.try_emplace(id.value_or(-1));
  if (is_new) {
    const std::string_view name = plain_api_name(tables_.string(id));
    entry->second = {.text = sink_.text(name),
                     .launches = name.find("Launch") != std::string_view::npos,
                     .polls = name.find("Query") != std::string_view::npos};
  }
  return entry->second;
}

void Process::api(const Row& row) {
  using namespace api_column;
  const std::optional<Span> at = span(row);
  if (!at) return;
  const int64_t on = thread(row[kProcess]);
  const ApiName& name = api_name(row[kName]);
  const std::optional<int64_t> correlation = positive(row[kCorrelation]);
  if (name.launches) ++launches_[static_cast<size_t>(on)];
  if (const int64_t returned = row[kReturned].value_or(0); returned != 0 && returned != kNotReady)
    ++failed_calls_;
  if (correlation) {
    // The outermost call, if a driver call is within a runtime call.
    const auto wanted = apis_.find(*correlation);
    if (wanted != apis_.end() && (wanted->second.thread < 0 || at->start < wanted->second.start))
      wanted->second = {.thread = on, .start = at->start, .polls = name.polls};
  }
  sink_.add(schema::HostRangeRow{.thread_id = on,
                                 .start_ns = at->start,
                                 .duration_ns = at->duration,
                                 .name_id = name.text,
                                 .category = RangeCategory::kApi,
                                 .correlation = correlation});
}

void Process::overhead(const Row& row) {
  using namespace overhead_column;
  const std::optional<Span> at = span(row);
  if (!at) return;
  std::string_view name = tables_.string(row[kName]);
  if (name.empty()) name = overhead_name(row[kType]);
  sink_.add(schema::HostRangeRow{.thread_id = thread(row[kProcess]),
                                 .start_ns = at->start,
                                 .duration_ns = at->duration,
                                 .name_id = sink_.text(name),
                                 .category = RangeCategory::kOverhead});
}

void Process::memory(const Row& row) {
  using namespace memory_column;
  const std::optional<int64_t> time = session_.time(row[kStart]);
  if (!time) return sink_.skip(kNoTime);
  const int64_t bytes = row[kBytes].value_or(-1);
  if (bytes < 0) return sink_.skip(kNoSize, time);
  const int64_t kind = row[kKind].value_or(2);
  const bool on_host = kind == 0 || kind == 1;
  const int64_t device = std::clamp<int64_t>(row[kDevice].value_or(0), 0, INT32_MAX);
  sink_.add(schema::MemoryEventRow{.device_id = on_host ? -1 : device,
                                   .time_ns = *time,
                                   .kind = row[kOperation].value_or(0) == 1
                                               ? schema::MemoryEventKind::kSegmentFree
                                               : schema::MemoryEventKind::kSegmentAlloc,
                                   .address = row[kAddress].value_or(0),
                                   .bytes = bytes});
}

Process::NvtxName& Process::nvtx_name(int64_t text, std::string_view name) {
  const auto at = static_cast<size_t>(std::max<int64_t>(0, text));
  if (at >= nvtx_names_.size()) nvtx_names_.resize(at + 1);
  NvtxName& known = nvtx_names_[at];
  if (!known.classified)
    known = {.step = step_name(name), .is_nccl = names_nccl_call(name), .classified = true};
  return known;
}

std::string_view Process::domain(int64_t number) const {
  const auto known = session_.domains.find({id_, number});
  return known == session_.domains.end() ? std::string_view() : known->second;
}

void Process::nvtx(const Row& row) {
  using namespace nvtx_column;
  const std::optional<int64_t> start = session_.time(row[kStart]);
  const std::optional<int64_t> end = session_.time(row[kEnd]);
  const bool is_open = !end || end == session_.end_ns;
  RangeCategory category = RangeCategory::kNvtx;
  switch (row[kType].value_or(59)) {
    case 59:
    case 70:
      break;
    case 60:
    case 71:
      category = RangeCategory::kNvtxProcess;
      break;
    case 34:
    case 65:
      category = RangeCategory::kNvtxMark;
      break;
    case 33:
    case 39:
    case 64:
    case 72:
    case 73:
    case 74:
    case 75:
    case 76:
      return sink_.used();  // names of categories, threads, domains
    default:
      return sink_.skip(kOddMarkers, start);
  }
  if (!start) return sink_.skip(kNoTime);
  if (category == RangeCategory::kNvtxMark) return nvtx_range(row, {*start, 0}, false, category);
  if (row.has(kEnd) && (!end || *end < *start)) return sink_.skip(kNoEnd, start);
  nvtx_range(row, {*start, end.value_or(*start) - *start}, is_open, category);
}

void Process::nvtx_range(const Row& row, const Span& span, bool is_open, RangeCategory category) {
  using namespace nvtx_column;
  // The text is in the row, or registered.
  int64_t text = 0;
  std::string_view name = row.text(kText);
  if (row.has(kText)) {
    text = sink_.text(name);
  } else if (const std::optional<int64_t> id = row[kTextId]) {
    name = tables_.string(id);
    const auto [entry, is_new] = nvtx_texts_.try_emplace(*id);
    if (is_new) entry->second = sink_.text(name);
    text = entry->second;
  }
  const int64_t number = row[kDomain].value_or(0);
  const NvtxName& known = nvtx_name(text, name);
  schema::HostRangeRow range{.thread_id = thread(row[kProcess]),
                             .start_ns = span.start,
                             .duration_ns = span.duration,
                             .name_id = text,
                             .category = category};
  if (is_open) range.duration_ns.reset();
  std::string_view blob;
  sink_.add(range, detail(row, number, blob));
  if (category == RangeCategory::kNvtxMark) return;
  const int64_t end = span.start + span.duration;
  if (known.step)
    steps_.push_back({*known.step, span.start, is_open ? std::nullopt : std::optional(end)});
  if (!known.is_nccl) return;
  if (const std::string_view of = domain(number); of.empty() ? number == 0 : of != "NCCL") return;
  NcclPayload payload;
  if (const auto schema = session_.schemas.find({number, last_schema_});
      !blob.empty() && schema != session_.schemas.end())
    payload = nccl_payload(schema->second, blob);
  nccl_.add_range(range.thread_id, span.start, is_open ? INT64_MAX : end, name, payload);
}

// `blob` is set to the bytes of a payload with a schema, valid until the next row.
RangeDetail Process::detail(const Row& row, int64_t domain_number, std::string_view& blob) {
  using namespace nvtx_column;
  RangeDetail detail;
  if (domain_number != 0) {
    const std::string_view name = domain(domain_number);
    detail.domain_id =
        name.empty() ? sink_.text(fmt::format("domain {}", domain_number)) : sink_.text(name);
  }
  if (const std::optional<int64_t> color = row[kColor]; color.value_or(0) != 0)
    detail.color = *color & 0xFFFFFFFF;
  detail.nvtx_category = positive(row[kCategory]);
  const auto give = [&](PayloadKind kind, std::string bytes) {
    detail.payload_kind = kind;
    detail.payload = std::move(bytes);
  };
  if (const auto value = row[kUint64]) give(PayloadKind::kUint64, bytes_of_number(*value));
  if (const auto value = row[kInt64]) give(PayloadKind::kInt64, bytes_of_number(*value));
  if (row.has(kDouble)) give(PayloadKind::kDouble, bytes_of_number(row.real(kDouble)));
  if (const auto value = row[kUint32])
    give(PayloadKind::kUint32, bytes_of_number(static_cast<uint32_t>(*value)));
  if (const auto value = row[kInt32])
    give(PayloadKind::kInt32, bytes_of_number(static_cast<int32_t>(*value)));
  if (row.has(kFloat))
    give(PayloadKind::kFloat, bytes_of_number(static_cast<float>(row.real(kFloat))));
  if (row.has(kJson) || row.has(kJsonId)) ++json_payloads_;
  if (!row.has(kBinary)) return detail;
  // Domain, schema, size and offset of the payload, then the payload.
  payload_ = binary(row.text(kBinary));
  uint64_t header[4] = {};
  if (payload_.size() < sizeof header) return detail;
  std::memcpy(header, payload_.data(), sizeof header);
  const bool sound = header[3] >= sizeof header && header[3] <= payload_.size();
  blob = std::string_view(payload_).substr(sound ? header[3] : sizeof header);
  blob = blob.substr(0, header[2]);
  last_schema_ = static_cast<int64_t>(header[1]);
  detail.schema_id = last_schema_;
  has_payloads_ = true;
  give(PayloadKind::kSchema, std::string(blob));
  return detail;
}

void Process::finish_waits() {
  const auto api_of = [&](int64_t correlation) {
    const auto known = apis_.find(correlation);
    return known == apis_.end() ? ApiCall{} : known->second;
  };
  for (auto& [event, records] : of_event_) {
    std::ranges::stable_sort(
        records, {}, [&](const Record& record) { return api_of(record.correlation).start; });
  }
  for (Wait& wait : waits_) {
    const ApiCall api = api_of(wait.row.correlation.value_or(0));
    if (api.thread >= 0 && api.polls) {
      sink_.skip(kPolls, wait.row.wait_ns);
      continue;
    }
    if (api.thread >= 0) wait.row.wait_ns = api.start;
    const Record* record = nullptr;
    if (const auto known = records_.find(wait.sync_id.value_or(0)); known != records_.end()) {
      record = &known->second;
    } else if (const auto same = of_event_.find(wait.row.event);
               same != of_event_.end() && !wait.sync_id) {
      // The latest record of the event before the wait.
      const auto after = std::ranges::upper_bound(
          same->second, *wait.row.wait_ns, {},
          [&](const Record& one) { return api_of(one.correlation).start; });
      if (after != same->second.begin()) record = &*(after - 1);
    }
    if (record != nullptr) {
      wait.row.record_stream_id = record->stream;
      const ApiCall recorded = api_of(record->correlation);
      if (recorded.thread >= 0) wait.row.record_ns = recorded.start;
    }
    sink_.add(wait.row);
  }
}

void Process::finish_steps() {
  for (const schema::StepRow& row : steps_of(std::move(steps_))) sink_.add(row);
}

void Process::finish_threads() {
  for (const auto& [global, id] : threads_) {
    schema::ThreadRow& row = sink_.thread(id);
    const auto named = session_.thread_names.find(global);
    if (named == session_.thread_names.end() || named->second.empty()) continue;
    row.name_id = sink_.text(named->second);
    if (named->second.starts_with("pt_autograd")) row.role = schema::ThreadRole::kAutograd;
  }
  const auto most = std::ranges::max_element(launches_);
  if (most != launches_.end() && (*most > 0 || launches_.size() == 1))
    sink_.thread(most - launches_.begin()).role = schema::ThreadRole::kMain;
}

void Process::finish_devices() {
  for (const auto& [where, gpu] : session_.gpus) {
    if (where.first != pid_of(id_) || !sink_.has_device(where.second)) continue;
    schema::DeviceRow row{.id = where.second,
                          .memory_bytes = gpu.memory_bytes,
                          .compute_capability = gpu.compute_capability};
    if (!gpu.uuid.empty()) row.uuid = gpu.uuid;
    if (!gpu.name.empty()) row.name_id = sink_.text(gpu.name);
    sink_.set_device(row);
  }
}

void Process::finish_schemas() {
  if (!has_payloads_) return;
  for (const auto& [key, schema] : session_.schemas) {
    for (const SchemaEntry& entry : schema.entries) {
      schema::NvtxSchemaRow row{.schema_id = key.second,
                                .entry_index = entry.index,
                                .entry_type = entry.type,
                                .entry_offset = entry.offset,
                                .entry_flags = entry.flags,
                                .entry_detail = entry.detail};
      if (const std::string_view of = domain(key.first); !of.empty())
        row.domain_id = sink_.text(of);
      if (!schema.name.empty()) row.name_id = sink_.text(schema.name);
      if (!entry.name.empty()) row.entry_name_id = sink_.text(entry.name);
      sink_.add(row);
    }
  }
}

void Process::finish() {
  nccl_.finish(apis_);
  finish_waits();
  finish_steps();
  finish_threads();
  finish_devices();
  finish_schemas();
  if (failed_calls_ > 0)
    sink_.remark("import_failed_calls",
                 fmt::format("{} CUDA calls returned an error", failed_calls_), failed_calls_);
  if (graphs_ > 0)
    sink_.remark("import_whole_graphs",
                 fmt::format("{} launches of CUDA graphs are recorded as a whole", graphs_),
                 graphs_);
  if (json_payloads_ > 0)
    sink_.remark("import_skipped",
                 fmt::format("{} JSON payloads of NVTX ranges were not kept", json_payloads_),
                 json_payloads_);
}

}  // namespace dprof::analyzer::nsys
