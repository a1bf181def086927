// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/cuda/cuda_events.h"

#include "collector/inject/session.h"
#include "collector/inject/threads.h"
#include "collector/wire/gpu_records.h"

namespace dprof::inject {
namespace {

using cupti::driver::kEventRecord;
using cupti::driver::kEventRecordPtsz;
using cupti::driver::kEventRecordWithFlags;
using cupti::driver::kEventRecordWithFlagsPtsz;
using cupti::driver::kEventSynchronize;
using cupti::driver::kStreamWaitEvent;
using cupti::driver::kStreamWaitEventPtsz;

constexpr uint32_t kCalls[] = {
    kEventRecord,         kEventRecordPtsz,  kEventRecordWithFlags,    kStreamWaitEvent,
    kStreamWaitEventPtsz, kEventSynchronize, kEventRecordWithFlagsPtsz};
constexpr uint32_t kHost = ~0u;

constinit std::atomic<const cupti::Table*> event_functions = nullptr;

struct Call {
  wire::GpuEventKind kind;
  void* event;
  cupti::Stream stream;
  bool per_thread;  // the null handle means the thread's own default stream
};

// The arguments of the call. False for a call that is not to be recorded.
bool read_call(uint32_t callback_id, const void* parameters, Call& call) noexcept {
  switch (callback_id) {
    case kEventRecord:
    case kEventRecordPtsz:
    case kEventRecordWithFlags:
    case kEventRecordWithFlagsPtsz: {
      const auto& given = *static_cast<const cupti::EventRecordParameters*>(parameters);
      call = {wire::GpuEventKind::kRecord, given.event, given.stream,
              callback_id == kEventRecordPtsz || callback_id == kEventRecordWithFlagsPtsz};
      return true;
    }
    case kStreamWaitEvent:
    case kStreamWaitEventPtsz: {
      const auto& given = *static_cast<const cupti::StreamWaitParameters*>(parameters);
      call = {wire::GpuEventKind::kStreamWait, given.event, given.stream,
              callback_id == kStreamWaitEventPtsz};
      return true;
    }
    case kEventSynchronize: {
      const auto& given = *static_cast<const cupti::EventSynchronizeParameters*>(parameters);
      call = {wire::GpuEventKind::kSynchronize, given.event, nullptr, false};
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

void on_driver_call(void*, uint32_t domain, uint32_t callback_id,
                    const cupti::CallbackData* data) noexcept {
  if ((hot_mask() & kMaskCuda) == 0 || data == nullptr || data->site != cupti::kSiteEnter ||
      domain != static_cast<uint32_t>(cupti::Domain::kDriver) || data->parameters == nullptr) {
    return;
  }
  const cupti::Table* table = event_functions.load(std::memory_order_acquire);
  Call call{};
  if (table == nullptr || !read_call(callback_id, data->parameters, call)) return;
  ThreadState* thread = current_thread();
  if (thread == nullptr) return;
  const HookTimer timer(*thread);
  wire::Record record{};
  record.kind = wire::Kind::kGpuEvent;
  record.slots = 1;
  record.ticks = ticks();
  wire::GpuEvent body{};
  body.time_ns = wire::ticks_to_ns(runtime.scale, record.ticks);
  body.event = reinterpret_cast<uintptr_t>(call.event);
  body.stream = kHost;
  body.correlation = data->correlation;
  body.kind = call.kind;
  uint32_t device = 0;
  if (table->get_device_id(data->context, &device) == cupti::kSuccess) {
    body.device = static_cast<uint16_t>(device);
  }
  if (call.kind != wire::GpuEventKind::kSynchronize &&
      table->get_stream_id(data->context, call.stream, call.per_thread ? 1 : 0, &body.stream) !=
          cupti::kSuccess) {
    return;  // a dependency without a known stream is useless
  }
  wire::set_body(record, body);
  thread->writer.push(record);
}

void watch_events(const cupti::Client& client, bool on) noexcept {
  event_functions.store(on ? client.table : event_functions.load(), std::memory_order_release);
  for (const uint32_t call : kCalls) {
    client.table->enable_callback(on ? 1 : 0, client.subscriber, cupti::Domain::kDriver, call);
  }
}

}  // namespace dprof::inject
