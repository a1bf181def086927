// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/cuda/cuda_capture.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "collector/inject/cuda/cuda_clients.h"
#include "collector/inject/cuda/cuda_events.h"
#include "collector/inject/cuda/cupti_sink.h"
#include "collector/inject/session.h"
#include "collector/inject/source.h"
#include "collector/wire/ring.h"
#include "collector/wire/ticks.h"

namespace dprof::inject {

constinit CudaCapture cuda_capture;

namespace {

using cupti::ActivityKind;
using cupti::Domain;

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kFlushEveryNs = 1'000 * kMs;
constexpr uint64_t kFlushAfterNs = 3'000 * kMs;  // how long earlier work may still arrive
constexpr uint64_t kTurnNs = 50 * kMs;           // the helper has other work, too
constexpr uint64_t kBacklogNs = kMs;

// Launches, copies and waits for them: joined to the GPU's work by correlation id.
constexpr uint32_t kRuntimeCalls[] = {
    cupti::runtime_api::kMemcpy,
    cupti::runtime_api::kMemcpyAsync,
    cupti::runtime_api::kMemset,
    cupti::runtime_api::kMemsetAsync,
    cupti::runtime_api::kStreamSynchronize,
    cupti::runtime_api::kEventSynchronize,
    cupti::runtime_api::kMemcpyPeerAsync,
    cupti::runtime_api::kDeviceSynchronize,
    cupti::runtime_api::kLaunchKernel,
    cupti::runtime_api::kLaunchKernelPtsz,
    cupti::runtime_api::kMemcpyAsyncPtsz,
    cupti::runtime_api::kMemsetAsyncPtsz,
    cupti::runtime_api::kStreamSynchronizePtsz,
    cupti::runtime_api::kLaunchCooperativeKernel,
    cupti::runtime_api::kLaunchCooperativeKernelPtsz,
    cupti::runtime_api::kGraphLaunch,
    cupti::runtime_api::kGraphLaunchPtsz,
    cupti::runtime_api::kLaunchKernelExC,
    cupti::runtime_api::kLaunchKernelExCPtsz,
    cupti::runtime_api::kLaunchKernel13,
    cupti::runtime_api::kLaunchKernel13Ptsz,
};
// NCCL and Triton launch through the driver.
constexpr uint32_t kDriverCalls[] = {
    cupti::driver::kLaunchKernel,
    cupti::driver::kLaunchKernelPtsz,
    cupti::driver::kLaunchKernelEx,
    cupti::driver::kLaunchKernelExPtsz,
    cupti::driver::kLaunchCooperativeKernel,
    cupti::driver::kLaunchCooperativeKernelPtsz,
    cupti::driver::kGraphLaunch,
    cupti::driver::kGraphLaunchPtsz,
};
constexpr ActivityKind kBaseKinds[] = {ActivityKind::kExternalCorrelation, ActivityKind::kMemcpy,
                                       ActivityKind::kMemcpyPeer, ActivityKind::kMemset};
// Recording synchronisation alone made a step of 2.6 ms with 80 kernels 13 % longer on an H200
// (docs/gpu_results.md). The calls already show how long the host waits.
struct DetailKind {
  ActivityKind kind;
  wire::DetailLevel from;
};
constexpr DetailKind kDetailKinds[] = {
    {ActivityKind::kOverhead, wire::DetailLevel::kStandard},
    {ActivityKind::kSynchronization, wire::DetailLevel::kFull},
};
// Contexts before streams: a stream's record names its context, not its device.
constexpr ActivityKind kMetadataKinds[] = {ActivityKind::kDevice, ActivityKind::kContext,
                                           ActivityKind::kStream};

// Depth of the calling thread's pushes, so that a pop never removes another client's push.
thread_local uint32_t external_depth __attribute__((tls_model("initial-exec"))) = 0;

// HOT PATH, called by CUPTI for host records on the launching thread. Budget: 20 ns.
uint64_t timestamp() noexcept {
  return static_cast<uint64_t>(wire::ticks_to_ns(runtime.scale, ticks()));
}

constinit cupti::BufferPool* pool_of_callbacks = nullptr;
constinit std::atomic<bool> drops_buffers = false;  // nothing is recorded

void give_buffer(uint8_t** buffer, size_t* bytes) noexcept {
  *buffer = pool_of_callbacks->give();
  *bytes = *buffer != nullptr ? cupti::kBufferBytes : 0;
}

void take_buffer(uint8_t* buffer, size_t valid_bytes) noexcept {
  if (drops_buffers.load(std::memory_order_acquire)) return pool_of_callbacks->drop(buffer);
  if (pool_of_callbacks->take(buffer, valid_bytes)) {
    wire::futex_wake(runtime.mapping.control()->generation);  // the helper sleeps on it
  }
}

bool is_listed(Domain domain, uint32_t call) noexcept {
  const auto is_it = [call](uint32_t one) { return one == call; };
  return domain == Domain::kRuntime ? std::ranges::any_of(kRuntimeCalls, is_it)
                                    : std::ranges::any_of(kDriverCalls, is_it);
}

constexpr cupti::Handlers kHandlers = {&on_driver_call, &give_buffer, &take_buffer, &timestamp};

void count_losses(wire::SharedLoss which, uint64_t count) noexcept {
  if (count == 0) return;
  wire::LossCounter& loss = runtime.mapping.header()->losses[static_cast<uint32_t>(which)];
  wire::count_loss(loss, ticks());
  loss.count.fetch_add(count - 1, std::memory_order_relaxed);
}

}  // namespace

cupti::Result CudaCapture::subscribe() noexcept {
  if (cupti::has_v2(library_.table)) {
    backend_ = &cupti::kBackendV2;
    const cupti::Result result = backend_->subscribe(client_, kHandlers);
    if (result == cupti::kSuccess) return result;
  }
  // Also for a library that has v2 with a driver that has not.
  backend_ = &cupti::kBackendV1;
  return backend_->subscribe(client_, kHandlers);
}

Attached CudaCapture::attach(const Start& start, char* why, size_t why_bytes) noexcept {
  if (!loaded_ && !(loaded_ = cupti::load_library(library_))) {
    snprintf(why, why_bytes, "off: %s", library_.why);
    return Attached::kMissing;
  }
  if (!pool_.prepare()) {
    snprintf(why, why_bytes, "off: no room for CUPTI's buffers");
    return Attached::kRefused;
  }
  pool_of_callbacks = &pool_;
  client_.table = &library_.table;
  const cupti::Result result = subscribe();
  if (result == cupti::kMultipleSubscribers) {
    char other[cupti::kSubscriberNameBytes] = {};
    if (client_.other[0] != '\0') {
      snprintf(other, sizeof other, "%s", client_.other);
    } else if (!find_other_client(other, sizeof other)) {
      snprintf(other, sizeof other, "%s",
               torch_may_profile() ? "another client, perhaps torch.profiler" : "another client");
    }
    snprintf(why, why_bytes, "off: CUPTI belongs to %s (code 39)", other);
    return Attached::kTaken;
  }
  if (result != cupti::kSuccess) {
    snprintf(why, why_bytes, "off: cuptiSubscribe answered %u", result);
    return Attached::kRefused;
  }
  if (prepare(start, why, why_bytes)) {
    want(start.mask, start.detail);
    return Attached::kDone;
  }
  switch_off();
  backend_->unsubscribe(client_);
  return Attached::kRefused;
}

bool CudaCapture::prepare(const Start& start, char* why, size_t why_bytes) noexcept {
  const cupti::Result prepared = backend_->prepare(client_, kHandlers);
  if (prepared != cupti::kSuccess) {
    snprintf(why, why_bytes, "off: cuptiActivityRegisterCallbacks answered %u", prepared);
    return false;
  }
  drops_buffers.store(false, std::memory_order_release);
  decoder_.record_between(UINT64_MAX, UINT64_MAX);  // metadata alone, until recording begins
  listed_calls_ = start.first;
  decoder_.choose_calls(listed_calls_ ? nullptr : &is_listed);
  set_metadata(true);
  if (start.first) {
    graphs_on_ = backend_->set_kind(client_, ActivityKind::kGraphTrace, true) == cupti::kSuccess;
    raise_detail(start.detail);  // now, even if recording begins later
  }
  const cupti::Result kernels = set_base(true);
  if (kernels != cupti::kSuccess)
    snprintf(why, why_bytes, "off: cuptiActivityEnable of kernels answered %u", kernels);
  return kernels == cupti::kSuccess;
}

void CudaCapture::set_metadata(bool on) noexcept {
  for (const ActivityKind kind : kMetadataKinds) backend_->set_kind(client_, kind, on);
}

// Functions enabled one by one after a context was made yield no records: then all are enabled, and
// the decoder selects.
void CudaCapture::set_calls(bool on) noexcept {
  if (!listed_calls_) {
    backend_->set_kind(client_, ActivityKind::kRuntime, on);
    backend_->set_kind(client_, ActivityKind::kDriver, on);
    return;
  }
  for (const uint32_t call : kRuntimeCalls) {
    backend_->set_api(client_, Domain::kRuntime, call, on);
  }
  for (const uint32_t call : kDriverCalls) backend_->set_api(client_, Domain::kDriver, call, on);
}

// Kinds unknown to the library are left out; only kernels are required.
cupti::Result CudaCapture::set_base(bool on) noexcept {
  set_calls(on);
  for (const ActivityKind kind : kBaseKinds) backend_->set_kind(client_, kind, on);
  return backend_->set_kind(client_, ActivityKind::kConcurrentKernel, on);
}

// Adds what a level has beyond those below it; never switches off again.
void CudaCapture::raise_detail(wire::DetailLevel detail) noexcept {
  for (const DetailKind& one : kDetailKinds) {
    if (one.from > detail_ && one.from <= detail) backend_->set_kind(client_, one.kind, true);
  }
  detail_ = std::max(detail_, detail);
}

void CudaCapture::drop_detail() noexcept {
  for (const DetailKind& one : kDetailKinds) {
    if (one.from <= detail_) backend_->set_kind(client_, one.kind, false);
  }
  detail_ = wire::DetailLevel::kLight;
}

void CudaCapture::set_watching(bool on) noexcept {
  if (watching_ != on) watch_events(client_, on);
  watching_ = on;
}

void CudaCapture::switch_off() noexcept {
  set_watching(false);
  external_.store(nullptr, std::memory_order_release);
  drop_detail();
  set_base(false);
  if (graphs_on_) backend_->set_kind(client_, ActivityKind::kGraphTrace, false);
  graphs_on_ = false;
  set_metadata(false);
}

// On the clock of CUPTI's records.
uint64_t CudaCapture::now() const noexcept {
  if (client_.own_clock) return timestamp();
  timespec real{};
  clock_gettime(CLOCK_REALTIME, &real);
  return static_cast<uint64_t>(real.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(real.tv_nsec);
}

void CudaCapture::want(uint32_t mask, wire::DetailLevel detail) noexcept {
  const bool base = (mask & kMaskCuda) != 0;
  const bool standard = base && detail >= wire::DetailLevel::kStandard;
  decoder_.configure(detail, client_.own_clock);
  if (base) raise_detail(detail);
  set_watching(standard);
  if (base && !recording_) begin();
  if (!base && recording_) end();
}

// Earlier records that CUPTI still holds are left out by their times.
void CudaCapture::begin() noexcept {
  decoder_.record_between(now(), UINT64_MAX);
  external_.store(backend_, std::memory_order_release);
  recording_ = true;
  next_flush_ns_ = wire::monotonic_ns() + kFlushEveryNs;
}

void CudaCapture::end() noexcept {
  external_.store(nullptr, std::memory_order_release);
  decoder_.record_until(now());
  recording_ = false;
  next_flush_ns_ = 0;
  flush_until_ns_ = wire::monotonic_ns() + kFlushAfterNs;
}

void CudaCapture::flush(uint32_t flag) noexcept {
  if (!flushed_) flush_ticks_ = ticks();
  const uint64_t began = wire::monotonic_ns();
  library_.table.flush_all(flag);
  const uint64_t now = wire::monotonic_ns();
  flush_.cost_ns += now - began;
  next_flush_ns_ = now + kFlushEveryNs;
  const uint64_t dropped = backend_->dropped(client_);
  flush_.dropped += dropped;
  count_losses(wire::SharedLoss::kCuptiDropped, dropped);
  flushed_ = true;
}

void CudaCapture::write_flush() noexcept {
  ThreadState* thread = current_thread();
  if (thread == nullptr) return;
  wire::Record record{};
  record.kind = wire::Kind::kGpuFlush;
  record.slots = 1;
  record.ticks = flush_ticks_;
  wire::set_body(record, flush_);
  thread->writer.push(record);
  flush_ = {};
  flushed_ = false;
}

void CudaCapture::count_unread(uint64_t bytes) noexcept {
  count_losses(wire::SharedLoss::kCuptiQueue, (bytes + wire::kSlotBytes - 1) / wire::kSlotBytes);
}

void CudaCapture::end_buffer(uint64_t unread_bytes) noexcept {
  count_unread(unread_bytes);
  pool_.recycle(current_.data);
  current_ = {};
  record_ = nullptr;
}

// Decodes the current buffer. False if the ring stayed full or time ran out; the next call resumes
// there.
bool CudaCapture::decode_buffer(const cupti::Sink& sink, uint64_t deadline_ns) noexcept {
  const uint8_t* end = current_.data + current_.valid_bytes;
  for (uint32_t count = 1;; ++count) {
    if (!wait_for_room(deadline_ns)) return false;
    if (count % 256 == 0 && wire::monotonic_ns() >= deadline_ns) return false;
    uint8_t* next = record_;
    const cupti::Result result =
        backend_->next_record(client_, current_.data, current_.valid_bytes, &next);
    const uint8_t* after = record_ != nullptr ? record_ + 1 : current_.data;
    if (result == cupti::kMaxLimitReached) {
      end_buffer(0);
      return true;
    }
    if (result != cupti::kSuccess || next < after || next >= end) {
      end_buffer(static_cast<uint64_t>(end - (record_ != nullptr ? record_ : current_.data)));
      return true;
    }
    record_ = next;
    const cupti::Decoded decoded =
        decoder_.decode(next, static_cast<size_t>(end - next), ticks(), sink);
    if (decoded == cupti::Decoded::kCut) count_losses(wire::SharedLoss::kCuptiQueue, 1);
    if (decoded == cupti::Decoded::kDone) ++flush_.delivered;
  }
}

// True when all finished buffers have been decoded.
bool CudaCapture::decode_until(uint64_t deadline_ns) noexcept {
  ThreadState* thread = current_thread();
  const cupti::Sink sink = sink_of(thread, library_.table);
  while (thread != nullptr) {
    if (current_.data == nullptr) current_ = pool_.next();
    if (current_.data == nullptr) break;
    if (!decode_buffer(sink, deadline_ns)) return false;
  }
  return true;
}

void CudaCapture::flush_when_due(uint64_t now_ns) noexcept {
  const bool wanted = recording_ || now_ns < flush_until_ns_;
  if (wanted && now_ns >= next_flush_ns_) flush(0);
}

uint64_t CudaCapture::drain() noexcept {
  const bool all = decode_until(wire::monotonic_ns() + kTurnNs);
  count_unread(pool_.take_unread_bytes());
  if (all && flushed_) write_flush();
  pool_.tidy();
  return all ? kNoHurry : kBacklogNs;
}

void CudaCapture::finish(uint64_t limit_ns) noexcept {
  const uint64_t deadline = wire::monotonic_ns() + limit_ns;
  flush(cupti::kFlushForced);
  while (!decode_until(deadline) && wire::monotonic_ns() < deadline) {
  }
  // What is left now is lost: count it.
  if (current_.data != nullptr) {
    const uint8_t* from = record_ != nullptr ? record_ : current_.data;
    end_buffer(static_cast<uint64_t>(current_.data + current_.valid_bytes - from));
  }
  for (auto left = pool_.next(); left.data != nullptr; left = pool_.next()) {
    current_ = left;
    end_buffer(left.valid_bytes);
  }
  count_unread(pool_.take_unread_bytes());
  write_flush();
}

void CudaCapture::detach() noexcept {
  switch_off();
  finish(kFlushEveryNs);
  recording_ = false;
  backend_->unsubscribe(client_);
}

void CudaCapture::leave() noexcept {
  set_watching(false);
  external_.store(nullptr, std::memory_order_release);
  flush(0);
  decode_until(wire::monotonic_ns() + kFlushEveryNs);
  write_flush();
  drops_buffers.store(true, std::memory_order_release);
  recording_ = false;
}

void CudaCapture::push_external(uint64_t id) noexcept {
  const cupti::Backend* backend = external_.load(std::memory_order_acquire);
  if (backend != nullptr && backend->push(client_, id)) ++external_depth;
}

void CudaCapture::pop_external() noexcept {
  if (external_depth == 0) return;
  --external_depth;
  backend_->pop(client_);
}

}  // namespace dprof::inject
