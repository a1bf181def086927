// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/torch/gradient_buckets.h"

#include <c10/core/ScalarType.h>
#include <torch/csrc/autograd/graph_task.h>

#include <atomic>
#include <optional>

#include "collector/inject/torch/core.h"
#include "collector/inject/torch/torch_layout.h"
#include "collector/wire/enum_values.h"
#include "collector/wire/training_records.h"

namespace dprof::inject::torch_source {
namespace {

constexpr std::string_view kAccumulateGrad = "torch::autograd::AccumulateGrad";
constexpr std::string_view kReducer = "torch::distributed::reducer::";
constexpr std::string_view kSearchUnused =
    "torch.distributed.ddp.reducer::search_unused_parameters";
constexpr uint32_t kMaxBucketGroups = 8;
constexpr uint32_t kMaxBuckets = 256;  // of one pass

// Gradients copied into a bucket since its last all-reduce.
struct Filling {
  const void* storage = nullptr;
  uint64_t ready_ticks = 0;
  int32_t parameters = 0;
};

// The last reported state of a bucket.
struct ReportedBucket {
  uint64_t group = 0;
  const void* storage = nullptr;
  int64_t bytes = 0;
  int32_t index = -1;
};

struct Pass {
  int task = -1;                // graph task, unique in the process
  uint64_t gradient_ticks = 0;  // end of its last AccumulateGrad on this thread
  uint32_t reduced = 0;         // all-reduces since then
  uint32_t copied = 0;          // gradients since then
  uint64_t groups[kMaxBucketGroups] = {};
  uint16_t next_index[kMaxBucketGroups] = {};
  uint32_t filling_count = 0;
};

struct ThreadBuckets {
  uint32_t nodes = 0;  // open autograd nodes
  Pass pass;
  Filling filling[kMaxBuckets];
  ReportedBucket reported[kMaxBuckets];
};

thread_local ThreadBuckets buckets;

bool follow_pass() noexcept {
  const int task = torch::autograd::get_current_graph_task_id();
  if (task < 0) return false;
  if (task != buckets.pass.task) {
    buckets.pass = {};
    buckets.pass.task = task;
  }
  return true;
}

Filling* find_filling(const void* storage) noexcept {
  for (uint32_t i = 0; i < buckets.pass.filling_count; ++i) {
    if (buckets.filling[i].storage == storage) return &buckets.filling[i];
  }
  return nullptr;
}

std::optional<TensorView> first_tensor(const at::RecordFunction& function) {
  const auto inputs = inputs_of(function);
  if (inputs.empty()) return std::nullopt;
  const ValueView& first = inputs[0];
  if (first.is_tensor()) return first.tensor();
  if (!first.is_list()) return std::nullopt;
  const auto list = first.list();
  return list.size() == 1 && list[0].is_tensor() ? std::optional(list[0].tensor()) : std::nullopt;
}

// Null for a tensor without storage, or one whose answer may come from Python.
const void* storage_of(std::optional<TensorView> tensor) noexcept {
  return tensor && tensor->defined() && tensor->plain() ? tensor->storage() : nullptr;
}

bool is_floating_point(TensorView tensor) noexcept {
  switch (static_cast<c10::ScalarType>(tensor.data_type())) {
    case c10::ScalarType::Half:
    case c10::ScalarType::Float:
    case c10::ScalarType::Double:
    case c10::ScalarType::BFloat16:
    case c10::ScalarType::Float8_e5m2:
    case c10::ScalarType::Float8_e4m3fn:
    case c10::ScalarType::Float8_e5m2fnuz:
    case c10::ScalarType::Float8_e4m3fnuz:
      return true;
    default:
      return false;
  }
}

void note_copy(const at::RecordFunction& function) {
  if (!follow_pass()) return;
  const void* storage = storage_of(first_tensor(function));
  if (storage == nullptr) return;
  Filling* filling = find_filling(storage);
  if (filling == nullptr) {
    if (buckets.pass.filling_count == kMaxBuckets) return;
    filling = &buckets.filling[buckets.pass.filling_count++];
    *filling = {.storage = storage};
  }
  ++filling->parameters;
  // More than one copy after a gradient: the Reducer had deferred them, and their ready times are
  // unknown.
  filling->ready_ticks = buckets.pass.copied++ == 0 ? buckets.pass.gradient_ticks : 0;
}

void report_setting(const char* setting) noexcept {
  wire::Record record = record_of(wire::Kind::kSetting);
  record.empty = {};
  core->define(setting, &record);
}

// Once for each bucket of a layout: describes it, and tags its memory as a bucket's.
void report_bucket(const wire::CollectiveEnqueue& call, TensorView tensor, const void* storage,
                   int32_t index, int32_t parameters) {
  ReportedBucket& reported = buckets.reported[static_cast<uint32_t>(index) % kMaxBuckets];
  const ReportedBucket now = {call.group, storage, call.bytes, index};
  if (reported.group == now.group && reported.storage == now.storage &&
      reported.bytes == now.bytes && reported.index == now.index) {
    return;
  }
  reported = now;
  wire::Record bucket = record_of(wire::Kind::kBucket, wire::Bucket{.group = call.group,
                                                                    .bytes = call.bytes,
                                                                    .ready_ticks = call.ready_ticks,
                                                                    .index = index,
                                                                    .parameters = parameters,
                                                                    .reserved = {}});
  core->define(nullptr, &bucket);
  wire::Record tag = record_of(
      wire::Kind::kMemoryTag,
      wire::MemoryTag{.address = reinterpret_cast<uintptr_t>(data_of_storage(storage)),
                      .bytes = bytes_of_storage(storage),
                      .device = tensor.device_type() == kCpuDevice ? wire::kHostDevice
                                                                   : int16_t{tensor.device_index()},
                      .category = wire::memory_category::kBucket,
                      .reserved = {},
                      .reserved_words = {}});
  core->define(nullptr, &tag);
}

// -1 if there are too many groups.
int32_t next_index_of(uint64_t group) noexcept {
  for (uint32_t i = 0; i < kMaxBucketGroups; ++i) {
    uint64_t& known = buckets.pass.groups[i];
    if (known == 0) known = group;
    if (known == group) return buckets.pass.next_index[i]++;
  }
  return -1;
}

}  // namespace

void enter_autograd_node() noexcept { ++buckets.nodes; }

void leave_autograd_node(const at::RecordFunction& function) noexcept {
  // A node that began before the callback was registered is not counted.
  if (buckets.nodes != 0) --buckets.nodes;
  if (!recording(kMaskTorch | kMaskStandard) || kAccumulateGrad != function.name()) return;
  if (!follow_pass()) return;
  buckets.pass.gradient_ticks = core->ticks();
  buckets.pass.reduced = 0;
  buckets.pass.copied = 0;
}

void notice_reducer(const at::RecordFunction& function, const char* name) noexcept {
  if (name[0] != 't' || name[1] != 'o') [[likely]]
    return;
  if (starts_with(name, kReducer)) {
    try {
      note_copy(function);
    } catch (...) {
      // The bucket stays unknown.
    }
  } else if (kSearchUnused == name) {
    static std::atomic<bool> reported = false;
    if (!reported.exchange(true)) report_setting("ddp.find_unused_parameters=true");
  }
}

void describe_bucket(const at::RecordFunction& function, wire::CollectiveEnqueue& call) noexcept {
  if (call.function != wire::function::kAllReduce || call.group == 0 || buckets.nodes != 0) return;
  if (torch::autograd::get_current_graph_task_id() != buckets.pass.task) return;
  Pass& pass = buckets.pass;
  if (pass.task < 0 || pass.gradient_ticks == 0) return;
  try {
    const std::optional<TensorView> tensor = first_tensor(function);
    const void* storage = storage_of(tensor);
    if (storage == nullptr || tensor->dimensions() != 1 || !is_floating_point(*tensor)) return;
    const int32_t index = next_index_of(call.group);
    if (index < 0) return;
    Filling* filling = find_filling(storage);
    if (pass.reduced == 0 && pass.copied <= 1) {
      call.ready_ticks = pass.gradient_ticks;
    } else if (filling != nullptr) {
      call.ready_ticks = filling->ready_ticks;
    }
    ++pass.reduced;
    call.bucket = static_cast<uint16_t>(index + 1);
    report_bucket(call, *tensor, storage, index, filling != nullptr ? filling->parameters : -1);
    if (filling != nullptr) *filling = buckets.filling[--pass.filling_count];
  } catch (...) {
    // The bucket stays unknown.
  }
}

}  // namespace dprof::inject::torch_source
