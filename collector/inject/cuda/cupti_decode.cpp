// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/cuda/cupti_decode.h"

#include <cstring>

namespace dprof::inject::cupti {
namespace {

// Numbers of GpuActivityKind in the trace (schema/enums.h); a test compares.
enum class Activity : uint8_t {
  kKernel = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kMemset = 4,
  kSync = 5,
  kGraph = 6,
};

template <typename Body>
void write(wire::Kind kind, const Body& body, uint32_t string, uint64_t ticks,
           const Sink& sink) noexcept {
  wire::Record record{};
  record.kind = kind;
  record.slots = 1;
  record.string = string;
  record.ticks = ticks;
  wire::set_body(record, body);
  sink.write(sink.user, record, nullptr, 0);
}

struct CopyName {
  Activity activity;
  const char* name;
};

// Arrays are in device memory; a copy from host to host is still the device's work.
CopyName name_of(CopyKind kind) noexcept {
  switch (kind) {
    case CopyKind::kHostToDevice:
      return {Activity::kHostToDevice, "memcpy HtoD"};
    case CopyKind::kHostToArray:
      return {Activity::kHostToDevice, "memcpy HtoA"};
    case CopyKind::kDeviceToHost:
      return {Activity::kDeviceToHost, "memcpy DtoH"};
    case CopyKind::kArrayToHost:
      return {Activity::kDeviceToHost, "memcpy AtoH"};
    case CopyKind::kHostToHost:
      return {Activity::kDeviceToDevice, "memcpy HtoH"};
    case CopyKind::kPeerToPeer:
      return {Activity::kDeviceToDevice, "memcpy PtoP"};
    case CopyKind::kDeviceToDevice:
      return {Activity::kDeviceToDevice, "memcpy DtoD"};
    case CopyKind::kArrayToArray:
    case CopyKind::kArrayToDevice:
    case CopyKind::kDeviceToArray:
      return {Activity::kDeviceToDevice, "memcpy with an array"};
    case CopyKind::kUnknown:
      break;
  }
  return {Activity::kDeviceToDevice, "memcpy of unknown kind"};
}

const char* name_of(SyncType type) noexcept {
  switch (type) {
    case SyncType::kEvent:
      return "event synchronize";
    case SyncType::kStreamWait:
      return "stream wait event";
    case SyncType::kStream:
      return "stream synchronize";
    case SyncType::kContext:
      return "context synchronize";
    case SyncType::kUnknown:
      break;
  }
  return "synchronize of unknown kind";
}

const char* name_of(OverheadKind kind) noexcept {
  switch (kind) {
    case OverheadKind::kDriverCompiler:
      return "driver compiler";
    case OverheadKind::kBufferFlush:
      return "CUPTI buffer flush";
    case OverheadKind::kInstrumentation:
      return "CUPTI instrumentation";
    case OverheadKind::kResource:
      return "CUPTI resource";
    case OverheadKind::kModuleLoading:
      return "module loading";
    case OverheadKind::kLazyFunctionLoading:
      return "lazy function loading";
    case OverheadKind::kCommandBufferFull:
      return "command buffer full";
    case OverheadKind::kBufferRequest:
      return "CUPTI buffer request";
    case OverheadKind::kUvmInit:
      return "unified memory start-up";
    case OverheadKind::kUnknown:
      break;
  }
  return "overhead of unknown kind";
}

// Copies the common beginning of a record; false if the buffer ends before it does.
template <typename Body>
bool read(const uint8_t* data, size_t room, Body& body) noexcept {
  if (room < sizeof body) return false;
  memcpy(static_cast<void*>(&body), data, sizeof body);
  return true;
}

}  // namespace

uint8_t Decoder::flags_of(uint64_t start, uint64_t end) const noexcept {
  if (start == 0 || end == 0) return wire::gpu_flag::kNoTimestamp;
  return own_clock_ ? uint8_t{0} : wire::gpu_flag::kRealtimeBase;
}

const Decoder::ContextDevice* Decoder::find(uint32_t context) const noexcept {
  for (uint32_t i = 0; i < context_count_; ++i) {
    if (contexts_[i].context == context) return &contexts_[i];
  }
  return nullptr;
}

// Device of a context that has not been seen yet: the only known device, or none.
uint16_t Decoder::device_of(uint32_t context) const noexcept {
  if (const ContextDevice* known = find(context)) return known->device;
  if (context_count_ == 0) return kNoDevice;
  for (uint32_t i = 1; i < context_count_; ++i) {
    if (contexts_[i].device != contexts_[0].device) return kNoDevice;
  }
  return contexts_[0].device;
}

void Decoder::note(uint32_t context, uint32_t device, uint32_t null_stream) noexcept {
  for (uint32_t i = 0; i < context_count_; ++i) {
    if (contexts_[i].context != context) continue;
    contexts_[i].device = static_cast<uint16_t>(device);
    if (null_stream != kInvalidStream) contexts_[i].null_stream = null_stream;
    return;
  }
  if (context_count_ == kMaxContexts) return;
  contexts_[context_count_++] = {context, static_cast<uint16_t>(device), null_stream};
}

void Decoder::write_activity(wire::GpuActivity body, uint32_t name, uint64_t ticks,
                             const Sink& sink, const wire::KernelShape* shape) const noexcept {
  body.flags = static_cast<uint8_t>(body.flags | flags_of(static_cast<uint64_t>(body.start_ns),
                                                          static_cast<uint64_t>(body.end_ns)));
  wire::Record record{};
  record.kind = wire::Kind::kGpuActivity;
  record.slots = 1;
  record.string = name;
  record.ticks = ticks;
  wire::set_body(record, body);
  sink.write(sink.user, record, shape, shape != nullptr ? sizeof *shape : 0);
}

void Decoder::on_kernel(const Kernel& kernel, uint64_t ticks, const Sink& sink) noexcept {
  if (find(kernel.context) == nullptr) note(kernel.context, kernel.device, kInvalidStream);
  wire::GpuActivity body{};
  body.start_ns = static_cast<int64_t>(kernel.start);
  body.end_ns = static_cast<int64_t>(kernel.end);
  body.graph_node = kernel.graph_node;
  body.graph = kernel.graph;
  body.correlation = kernel.correlation;
  body.stream = kernel.stream;
  body.device = static_cast<uint16_t>(kernel.device);
  body.kind = static_cast<uint8_t>(Activity::kKernel);
  if (kernel.graph != 0) body.flags = wire::gpu_flag::kInGraph;
  wire::KernelShape shape{};
  if (full_) {
    memcpy(shape.grid, kernel.grid, sizeof shape.grid);
    memcpy(shape.block, kernel.block, sizeof shape.block);
    shape.registers = kernel.registers_per_thread;
    shape.static_shared_bytes = kernel.static_shared_bytes;
    shape.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
  }
  write_activity(body, sink.text(sink.user, kernel.name), ticks, sink, full_ ? &shape : nullptr);
}

void Decoder::on_memcpy(const Memcpy& copy, uint64_t ticks, const Sink& sink) noexcept {
  const CopyName what = name_of(copy.copy_kind);
  wire::GpuActivity body{};
  body.start_ns = static_cast<int64_t>(copy.start);
  body.end_ns = static_cast<int64_t>(copy.end);
  body.bytes = copy.bytes;
  body.graph_node = copy.graph_node;
  body.graph = copy.graph;
  body.correlation = copy.correlation;
  body.stream = copy.stream;
  body.device = static_cast<uint16_t>(copy.device);
  body.kind = static_cast<uint8_t>(what.activity);
  if (copy.graph != 0) body.flags = wire::gpu_flag::kInGraph;
  write_activity(body, sink.text(sink.user, what.name), ticks, sink);
}

void Decoder::on_memcpy_peer(const MemcpyPeer& copy, uint64_t ticks, const Sink& sink) noexcept {
  wire::GpuActivity body{};
  body.start_ns = static_cast<int64_t>(copy.start);
  body.end_ns = static_cast<int64_t>(copy.end);
  body.bytes = copy.bytes;
  body.graph_node = copy.graph_node;
  body.graph = copy.graph;
  body.correlation = copy.correlation;
  body.stream = copy.stream;
  body.device = static_cast<uint16_t>(copy.device);
  body.kind = static_cast<uint8_t>(Activity::kDeviceToDevice);
  if (copy.graph != 0) body.flags = wire::gpu_flag::kInGraph;
  write_activity(body, sink.text(sink.user, name_of(CopyKind::kPeerToPeer).name), ticks, sink);
}

void Decoder::on_memset(const Memset& fill, uint64_t ticks, const Sink& sink) noexcept {
  wire::GpuActivity body{};
  body.start_ns = static_cast<int64_t>(fill.start);
  body.end_ns = static_cast<int64_t>(fill.end);
  body.bytes = fill.bytes;
  body.graph_node = fill.graph_node;
  body.graph = fill.graph;
  body.correlation = fill.correlation;
  body.stream = fill.stream;
  body.device = static_cast<uint16_t>(fill.device);
  body.kind = static_cast<uint8_t>(Activity::kMemset);
  if (fill.graph != 0) body.flags = wire::gpu_flag::kInGraph;
  write_activity(body, sink.text(sink.user, "memset"), ticks, sink);
}

void Decoder::on_graph(const GraphTrace& graph, uint64_t ticks, const Sink& sink) noexcept {
  wire::GpuActivity body{};
  body.start_ns = static_cast<int64_t>(graph.start);
  body.end_ns = static_cast<int64_t>(graph.end);
  body.graph = graph.graph;
  body.correlation = graph.correlation;
  body.stream = graph.stream;
  body.device = static_cast<uint16_t>(graph.device);
  body.kind = static_cast<uint8_t>(Activity::kGraph);
  write_activity(body, sink.text(sink.user, "CUDA graph"), ticks, sink);
}

void Decoder::on_synchronization(const Synchronization& sync, uint64_t ticks,
                                 const Sink& sink) noexcept {
  wire::GpuActivity body{};
  body.start_ns = static_cast<int64_t>(sync.start);
  body.end_ns = static_cast<int64_t>(sync.end);
  body.correlation = sync.correlation;
  body.stream = sync.stream;
  body.device = device_of(sync.context);
  body.kind = static_cast<uint8_t>(Activity::kSync);
  write_activity(body, sink.text(sink.user, name_of(sync.type)), ticks, sink);
}

void Decoder::on_api(const Api& call, uint64_t ticks, const Sink& sink) noexcept {
  const bool runtime = call.kind == ActivityKind::kRuntime;
  const Domain domain = runtime ? Domain::kRuntime : Domain::kDriver;
  if (wants_call_ != nullptr && !wants_call_(domain, call.callback_id)) return;
  wire::ApiCall body{};
  body.start_ns = static_cast<int64_t>(call.start);
  body.end_ns = static_cast<int64_t>(call.end);
  body.correlation = call.correlation;
  body.os_tid = call.thread;
  body.callback_id = call.callback_id;
  body.runtime = runtime ? 1 : 0;
  body.flags = flags_of(call.start, call.end);
  body.result = static_cast<int32_t>(call.result);
  write(wire::Kind::kApiCall, body, sink.api_name(sink.user, domain, call.callback_id), ticks,
        sink);
}

void Decoder::on_external(const External& external, uint64_t ticks, const Sink& sink) noexcept {
  if (external.external_kind != kExternalCustom2) return;  // another tool's
  wire::ExternalCorrelation body{};
  body.external = external.external;
  body.correlation = external.correlation;
  write(wire::Kind::kExternalCorrelation, body, 0, ticks, sink);
}

void Decoder::on_overhead(const Overhead& overhead, uint64_t ticks, const Sink& sink) noexcept {
  wire::CuptiOverhead body{};
  body.start_ns = static_cast<int64_t>(overhead.start);
  body.end_ns = static_cast<int64_t>(overhead.end);
  body.os_tid = overhead.object_kind == kObjectThread ? overhead.object[1] : 0;
  body.flags = flags_of(overhead.start, overhead.end);
  write(wire::Kind::kCuptiOverhead, body, sink.text(sink.user, name_of(overhead.what)), ticks,
        sink);
}

void Decoder::on_device(const DeviceInfo& device, uint64_t ticks, const Sink& sink) noexcept {
  wire::Device body{};
  body.device = device.id;
  body.compute_capability = device.capability_major * 100 + device.capability_minor;
  body.memory_bytes = device.memory_bytes;
  memcpy(body.uuid, device.uuid, sizeof body.uuid);
  write(wire::Kind::kDevice, body, sink.text(sink.user, device.name), ticks, sink);
}

void Decoder::on_context(const ContextInfo& context, uint64_t, const Sink&) noexcept {
  note(context.context, context.device, context.null_stream);
}

void Decoder::on_stream(const StreamInfo& stream, uint64_t ticks, const Sink& sink) noexcept {
  const ContextDevice* context = find(stream.context);
  if (context == nullptr) return;  // its device is not known; the activities name it
  wire::StreamName body{};
  body.device = context->device;
  body.stream = stream.stream;
  const bool is_default = stream.stream == context->null_stream;
  write(wire::Kind::kStreamName, body, is_default ? sink.text(sink.user, "default stream") : 0,
        ticks, sink);
}

Decoded Decoder::decode(const uint8_t* data, size_t room, uint64_t ticks,
                        const Sink& sink) noexcept {
  ActivityKind kind{};
  if (!read(data, room, kind)) return Decoded::kCut;
  const auto handle = [&]<typename Body>(void (Decoder::*on)(const Body&, uint64_t,
                                                             const Sink&) noexcept) noexcept {
    Body body;
    if (!read(data, room, body)) return Decoded::kCut;
    if (is_outside(body)) return Decoded::kForeign;
    (this->*on)(body, ticks, sink);
    return Decoded::kDone;
  };
  switch (kind) {
    case ActivityKind::kConcurrentKernel:
      return handle(&Decoder::on_kernel);
    case ActivityKind::kMemcpy:
      return handle(&Decoder::on_memcpy);
    case ActivityKind::kMemcpyPeer:
      return handle(&Decoder::on_memcpy_peer);
    case ActivityKind::kMemset:
      return handle(&Decoder::on_memset);
    case ActivityKind::kGraphTrace:
      return handle(&Decoder::on_graph);
    case ActivityKind::kSynchronization:
      return standard_ ? handle(&Decoder::on_synchronization) : Decoded::kForeign;
    case ActivityKind::kDriver:
    case ActivityKind::kRuntime:
      return handle(&Decoder::on_api);
    case ActivityKind::kExternalCorrelation:
      return handle(&Decoder::on_external);
    case ActivityKind::kOverhead:
      return standard_ ? handle(&Decoder::on_overhead) : Decoded::kForeign;
    case ActivityKind::kDevice:
      return handle(&Decoder::on_device);
    case ActivityKind::kStream:
      return handle(&Decoder::on_stream);
    case ActivityKind::kContext:
      return handle(&Decoder::on_context);
  }
  return Decoded::kForeign;
}

}  // namespace dprof::inject::cupti
