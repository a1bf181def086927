// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nccl/nccl_open.h"

#include "collector/inject/nccl/nccl_events.h"
#include "collector/inject/nccl/nccl_recording.h"
#include "collector/wire/nccl_records.h"

namespace dprof::inject::nccl {
namespace {

struct Open {
  std::atomic<uint64_t> id;  // 0 = free
  uint64_t begin_ticks;
  union {
    wire::NcclProxy proxy;
    wire::NcclKernelChannel channel;
  };
};
constinit Open opens[kMaxOpen] = {};
constexpr uint32_t kOpenProbes = 8;
constexpr uint64_t kBusy = 1;  // claimed, not yet filled

uint32_t open_place_of(uint64_t id) noexcept {
  return static_cast<uint32_t>((id >> kCountShift) ^ (id >> kRingShift) * 311);
}

Open* find(uint64_t id) noexcept {
  for (uint32_t probe = 0; probe < kOpenProbes; ++probe) {
    Open& open = opens[(open_place_of(id) + probe) % kMaxOpen];
    if (open.id.load(std::memory_order_acquire) == id) return &open;
  }
  return nullptr;
}

// A free slot for a new id; null, and counted as a dropped record, if there is none nearby.
Open* claim_open(const ThreadState& thread, uint64_t id) noexcept {
  for (uint32_t probe = 0; probe < kOpenProbes; ++probe) {
    Open& open = opens[(open_place_of(id) + probe) % kMaxOpen];
    uint64_t none = 0;
    if (open.id.load(std::memory_order_relaxed) == 0 &&
        open.id.compare_exchange_strong(none, kBusy, std::memory_order_acq_rel)) {
      return &open;
    }
  }
  wire::count_loss(runtime.mapping.ring(thread.ring)->dropped, ticks());
  return nullptr;
}

}  // namespace

// HOT PATH, on the proxy's thread, only if requested. Budget: 60 ns.
void* start_proxy_op(const ProxyOpEvent& event) noexcept {
  const ThreadState* thread = recording();
  if (thread == nullptr) return nullptr;
  const uint64_t id = new_id(*thread, Type::kProxyOp);
  Open* open = claim_open(*thread, id);
  if (open == nullptr) return nullptr;
  open->begin_ticks = ticks();
  open->proxy = {};
  // With PXN the parent can be another process's.
  const bool own = event.pid == hot_page.pid.load(std::memory_order_relaxed);
  open->proxy.parent = own ? id_of(event.parent) : 0;
  open->proxy.bytes = -1;
  open->proxy.peer = event.peer;
  open->proxy.steps = static_cast<uint32_t>(event.steps < 0 ? 0 : event.steps);
  open->proxy.channel = event.channel;
  open->proxy.is_send = event.is_send ? 1 : 0;
  open->id.store(id, std::memory_order_release);
  return handle_of(id);
}

// HOT PATH, as above. A step adds to its operation.
void* start_proxy_step(const void* parent) noexcept {
  const uint64_t id = parent_of(parent, Type::kProxyOp);
  if (id == 0) return nullptr;
  return handle_of((id & ~kTypeBits) | static_cast<uint64_t>(Type::kProxyStep));
}

void add_proxy_bytes(void* step, size_t bytes) noexcept {
  const uint64_t id = parent_of(step, Type::kProxyStep);
  if (id == 0) return;
  Open* open = find((id & ~kTypeBits) | static_cast<uint64_t>(Type::kProxyOp));
  if (open == nullptr) return;
  if (open->proxy.bytes < 0) open->proxy.bytes = 0;
  open->proxy.bytes += static_cast<int64_t>(bytes);
}

// HOT PATH, as above.
void* start_kernel_channel(const void* parent, uint8_t channel, uint64_t device_ns) noexcept {
  const ThreadState* thread = recording();
  if (thread == nullptr) return nullptr;
  const uint64_t id = new_id(*thread, Type::kKernelChannel);
  Open* open = claim_open(*thread, id);
  if (open == nullptr) return nullptr;
  open->begin_ticks = ticks();
  open->channel = {};
  open->channel.parent = id_of(parent);
  open->channel.start_device_ns = device_ns;
  open->channel.channel = channel;
  open->id.store(id, std::memory_order_release);
  return handle_of(id);
}

void set_kernel_channel_stop(void* handle, uint64_t device_ns) noexcept {
  const uint64_t id = parent_of(handle, Type::kKernelChannel);
  Open* open = id != 0 ? find(id) : nullptr;
  if (open == nullptr) return;
  // Before 2.31 NCCL sometimes gives the end of another kernel here: then it is not known.
  open->channel.stop_device_ns = device_ns >= open->channel.start_device_ns ? device_ns : 0;
}

void finish_open(uint64_t id) noexcept {
  Open* open = find(id);
  if (open == nullptr) return;
  ThreadState* thread = recording();
  if (thread == nullptr) {
    open->id.store(0, std::memory_order_release);
    return;
  }
  const HookTimer timer(*thread);
  const bool is_proxy = type_of(id) == Type::kProxyOp;
  wire::Record record =
      new_record(is_proxy ? wire::Kind::kNcclProxy : wire::Kind::kNcclKernelChannel);
  if (is_proxy) {
    open->proxy.duration_ticks = record.ticks - open->begin_ticks;
    wire::set_body(record, open->proxy);
  } else {
    wire::set_body(record, open->channel);
  }
  record.ticks = open->begin_ticks;
  open->id.store(0, std::memory_order_release);
  thread->writer.push(record);
}

}  // namespace dprof::inject::nccl
