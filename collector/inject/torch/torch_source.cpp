// SPDX-License-Identifier: Apache-2.0
// LibTorch's RecordFunction as a source: ops, marked ranges, autograd nodes, c10d and Gloo
// collectives. Built against one LibTorch; reads others by their layout (torch_layout.h).
// libdprof.so loads it into a process whose LibTorch is known, or passed the probe.
//
// Threading  callbacks run on every thread that runs ops. They are global and never removed:
//            removing is not safe while others run. They return early when the mask says off.
// Cost       a scope without a callback costs nothing, so callbacks are registered by scope, and
//            that for FUNCTION only once the detail level requires it (docs/hot_path.md).
#include <ATen/record_function.h>

#include <cstdio>
#include <cstring>
#include <exception>

#include "collector/inject/export.h"
#include "collector/inject/torch/collective_call.h"
#include "collector/inject/torch/core.h"
#include "collector/inject/torch/cuda_memory.h"
#include "collector/inject/torch/gradient_buckets.h"
#include "collector/inject/torch/host_memory.h"
#include "collector/inject/torch/torch_layout.h"
#include "collector/inject/torch/uncaught.h"
#include "collector/wire/enum_values.h"
#include "collector/wire/layout.h"

namespace dprof::inject::torch_source {

constinit const CoreApi* core = nullptr;

namespace {

uint64_t key_of(const at::RecordFunction& function) noexcept {
  return reinterpret_cast<uintptr_t>(&function);
}

uint8_t category_of(at::RecordScope scope) noexcept {
  switch (scope) {
    case at::RecordScope::BACKWARD_FUNCTION:
      return wire::range_category::kAutograd;
    case at::RecordScope::USER_SCOPE:
      return wire::range_category::kUser;
    default:
      return wire::range_category::kOp;
  }
}

wire::Record range_begin(const at::RecordFunction& function) noexcept {
  wire::Record record = record_of(wire::Kind::kRangeBegin);
  record.range_begin = {};
  record.range_begin.sequence = sequence_of(function);
  record.range_begin.category = category_of(function.scope());
  record.range_begin.source = wire::source::kTorch;
  return record;
}

// Gloo's range of a collective is its execution, on the worker thread that runs it.
void write_edge(wire::Kind kind, const at::RecordFunction& function, const char* name) noexcept {
  wire::Record record = record_of(kind);
  record.edge = {};
  record.edge.key = key_of(function);
  core->write(name, &record, kind == wire::Kind::kCollectiveEnd);
}

// A time-out, or a lost peer.
void write_failed_end(const at::RecordFunction& function,
                      const std::exception_ptr& error) noexcept {
  wire::Record record = record_of(wire::Kind::kCollectiveEnd);
  record.edge = {};
  record.edge.key = key_of(function);
  record.edge.failed = 1;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& one) {
    core->write(one.what(), &record, true);
  } catch (...) {
    core->write(nullptr, &record, true);
  }
}

// If a collective throws, Gloo ends its range while handling the exception
// (ProcessGroupGloo::AsyncWork::execute, Work::finish).
void write_end(const at::RecordFunction& function) noexcept {
  const std::exception_ptr error = std::current_exception();
  if (error) [[unlikely]] {
    write_failed_end(function, error);
  } else {
    write_edge(wire::Kind::kCollectiveEnd, function, nullptr);
  }
}

void begin_range(const at::RecordFunction& function, const char* name) noexcept {
  wire::Record record = range_begin(function);
  if (!function.isAsync()) {
    core->begin_range(name, key_of(function), &record);
    return;
  }
  record.range_begin.key = key_of(function);
  core->write(name, &record, false);
}

// A nesting range that was begun is ended even if the source is off by now; for the others only the
// recorder knows whether their begin was written.
void end_range(const at::RecordFunction& function) noexcept {
  if (!function.isAsync()) {
    core->end_range(key_of(function), category_of(function.scope()));
    return;
  }
  if (!recording(kMaskTorch)) return;
  wire::Record record = record_of(wire::Kind::kRangeEnd);
  record.range_end = {};
  record.range_end.key = key_of(function);
  record.range_end.category = category_of(function.scope());
  core->write(nullptr, &record, true);
}

// HOT PATH, on training threads. Budget: p50 <= 60 ns on top of RecordFunction's own cost.
std::unique_ptr<at::ObserverContext> on_range_start(const at::RecordFunction& function) noexcept {
  if (!recording(kMaskTorch)) return nullptr;
  const char* name = function.name();
  if (starts_with(name, kGlooPrefix)) {
    write_edge(wire::Kind::kCollectiveBegin, function, name);
  } else {
    begin_range(function, name);
  }
  return nullptr;
}

// HOT PATH, like its begin.
void on_range_end(const at::RecordFunction& function, at::ObserverContext*) noexcept {
  const char* name = function.name();
  if (starts_with(name, kGlooPrefix)) {
    if (recording(kMaskTorch)) write_end(function);
    return;
  }
  end_range(function);  // first: the sample belongs to dprof's time, not to the step's
  if (cuda_memory_ready.load(std::memory_order_acquire)) sample_cuda_memory(name);
}

// HOT PATH, on the threads of a backward pass. Budget: 10 ns more than a range's.
std::unique_ptr<at::ObserverContext> on_node_start(const at::RecordFunction& function) noexcept {
  enter_autograd_node();
  if (recording(kMaskTorch)) begin_range(function, function.name());
  return nullptr;
}

void on_node_end(const at::RecordFunction& function, at::ObserverContext*) noexcept {
  end_range(function);
  leave_autograd_node(function);
}

// HOT PATH, on training threads, for each operator. Budget: 15 ns where the op is not written.
std::unique_ptr<at::ObserverContext> on_op_start(const at::RecordFunction& function) noexcept {
  if (!recording(kMaskTorch | kMaskStandard)) return nullptr;
  if (cuda_memory_waits.load(std::memory_order_relaxed)) [[unlikely]]
    attach_cuda_memory(function);
  const char* name = function.name();
  notice_reducer(function, name);
  const bool c10d = starts_with(name, kC10dPrefix);
  if (!c10d && !recording(kMaskFull)) return nullptr;
  begin_range(function, name);
  if (const CollectiveOp* op = c10d ? find_collective_op(name) : nullptr) {
    wire::Record record = record_of(wire::Kind::kCollectiveEnqueue);
    describe_call(*core, *op, function, record);
    describe_bucket(function, record.enqueue);
    core->write(name, &record, false);
  }
  return nullptr;
}

void on_op_end(const at::RecordFunction& function, at::ObserverContext*) noexcept {
  end_range(function);
}

void register_callbacks(bool wants_ops) {
  static bool ranges = false;
  static bool ops = false;
  if (!ranges) {
    ranges = true;
    watch_terminate();
    at::addGlobalCallback(at::RecordFunctionCallback(&on_range_start, &on_range_end)
                              .scopes({at::RecordScope::USER_SCOPE}));
    at::addGlobalCallback(at::RecordFunctionCallback(&on_node_start, &on_node_end)
                              .scopes({at::RecordScope::BACKWARD_FUNCTION}));
  }
  if (!ops && wants_ops) {
    ops = true;
    at::addGlobalCallback(at::RecordFunctionCallback(&on_op_start, &on_op_end)
                              .scopes({at::RecordScope::FUNCTION})
                              .needsInputs(true));
  }
}

const char* word_of(CudaMemory cuda) noexcept {
  switch (cuda) {
    case CudaMemory::kNotBuilt:
      return "CUDA not known to this build";
    case CudaMemory::kUnknown:
      return "CUDA allocator not known in this build of torch";
    case CudaMemory::kAbsent:
    case CudaMemory::kIdle:
      return "CUDA not used";
    case CudaMemory::kAttached:
      return "CUDA allocator by step and event";
    case CudaMemory::kRefused:
      return "CUDA allocator by step (this one has no trace)";
  }
  return "";
}

// Reports which memory is recorded, whenever that changes. Plain memory: this thread outlives the
// program's static objects.
void report_memory_source(CudaMemory cuda, const char* host) {
  static char reported[160];
  char text[sizeof reported];
  snprintf(text, sizeof text, "%s; %s", host, word_of(cuda));
  if (strcmp(text, reported) == 0) return;
  memcpy(reported, text, sizeof reported);
  core->set_fact(wire::Fact::kMemorySource, text);
}

void watch_memory(wire::DetailLevel detail) {
  const char* host = "host RSS only";
  if (detail >= wire::DetailLevel::kFull) {
    host = install_host_memory() ? "host allocations of torch, host RSS"
                                 : "host RSS only (the program has its own allocator)";
  }
  report_memory_source(look_for_cuda(detail > wire::DetailLevel::kLight), host);
}

int start(const CoreApi* api, uint32_t detail, bool known, uint32_t minor) {
  if (api->version != kCoreApiVersion || api->bytes != sizeof(CoreApi)) return 1;
  if (core == nullptr && !choose_layout(minor != 0 ? minor : torch_minor(), known)) return 3;
  core = api;
  const auto level = static_cast<wire::DetailLevel>(detail);
  register_callbacks(level > wire::DetailLevel::kLight);
  watch_memory(level);
  return 0;
}

}  // namespace
}  // namespace dprof::inject::torch_source

// Called by libdprof.so's helper thread only.
DPROF_EXPORT int dprof_torch_start(const dprof::inject::CoreApi* core, uint32_t detail,
                                   uint32_t known, uint32_t layout) noexcept {
  try {
    return dprof::inject::torch_source::start(core, detail, known != 0, layout);
  } catch (...) {
    return 2;
  }
}
