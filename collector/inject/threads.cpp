// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/threads.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "collector/inject/memory.h"

namespace dprof::inject {

thread_local ThreadState* thread_state __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

constexpr uint32_t kSpareRings = 2;

constinit ThreadState states[wire::kMaxRings] = {};
constinit std::atomic<bool> claimed[wire::kMaxRings] = {};
constinit std::atomic<bool> populated[wire::kMaxRings] = {};
constinit std::atomic<bool> all_taken = false;  // until the helper sees a free ring
pthread_key_t end_of_thread;

bool is_free(uint32_t ring) noexcept {
  return runtime.mapping.ring(ring)->status.load(std::memory_order_acquire) ==
         static_cast<uint32_t>(wire::RingStatus::kFree);
}

// Claims a free ring; only the caller may touch it from then on.
bool claim(uint32_t ring) noexcept {
  if (!is_free(ring) || claimed[ring].exchange(true, std::memory_order_acq_rel)) return false;
  if (is_free(ring)) return true;
  claimed[ring].store(false, std::memory_order_release);
  return false;
}

bool make_ready(uint32_t ring) noexcept {
  if (populated[ring].load(std::memory_order_acquire)) return true;
  const auto offset = static_cast<uint64_t>(
      reinterpret_cast<unsigned char*>(runtime.mapping.slots(ring)) - runtime.mapping.base);
  if (!populate(runtime.mapping, offset, wire::kRingBytes)) return false;
  populated[ring].store(true, std::memory_order_release);
  return true;
}

void retire(void* pointer) noexcept {
  auto* state = static_cast<ThreadState*>(pointer);
  thread_state = nullptr;
  if (!session_alive()) return;  // a fork child: the ring is its parent's
  runtime.mapping.ring(state->ring)
      ->status.store(static_cast<uint32_t>(wire::RingStatus::kClosed), std::memory_order_release);
  claimed[state->ring].store(false, std::memory_order_release);
}

void name_thread(ThreadState& state) noexcept {
  char name[17] = {};
  if (prctl(PR_GET_NAME, name) != 0) return;
  wire::Record record{};
  record.kind = wire::Kind::kThreadName;
  record.slots = 1;
  record.string = intern(runtime.mapping, name, strlen(name));
  record.ticks = ticks();
  record.thread_name = {};
  state.writer.push(record);
}

ThreadState* take(uint32_t ring) noexcept {
  wire::RingShared* shared = runtime.mapping.ring(ring);
  ThreadState& state = states[ring];
  state.writer = wire::RingWriter(shared, runtime.mapping.slots(ring), runtime.mapping.control());
  state.texts.clear();
  state.nvtx_open.clear();
  state.torch_open.clear();
  state.ring = ring;
  shared->os_tid.store(static_cast<uint32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  shared->status.store(static_cast<uint32_t>(wire::RingStatus::kLive), std::memory_order_release);
  std::atomic<uint32_t>& taken = runtime.mapping.header()->rings_taken;
  uint32_t seen = taken.load(std::memory_order_relaxed);
  while (seen < ring + 1 && !taken.compare_exchange_weak(seen, ring + 1)) {
  }
  thread_state = &state;
  pthread_setspecific(end_of_thread, &state);
  name_thread(state);
  return &state;
}

void count_event_without_ring() noexcept {
  wire::count_loss(
      runtime.mapping.header()->losses[static_cast<uint32_t>(wire::SharedLoss::kNoRing)], ticks());
}

}  // namespace

ThreadState* claim_thread() noexcept {
  if (!session_alive()) return nullptr;
  if (all_taken.load(std::memory_order_relaxed)) {
    count_event_without_ring();
    return nullptr;
  }
  const int kept = errno;
  for (const bool only_populated : {true, false}) {
    for (uint32_t ring = 0; ring < wire::kMaxRings; ++ring) {
      if (only_populated && !populated[ring].load(std::memory_order_acquire)) continue;
      if (!claim(ring)) continue;
      if (make_ready(ring)) {
        ThreadState* state = take(ring);
        errno = kept;
        return state;
      }
      claimed[ring].store(false, std::memory_order_release);
    }
  }
  all_taken.store(true, std::memory_order_relaxed);
  count_event_without_ring();
  errno = kept;
  return nullptr;
}

bool prepare_threads() noexcept { return pthread_key_create(&end_of_thread, &retire) == 0; }

void keep_spare_rings() noexcept {
  uint32_t spare = 0;
  for (uint32_t ring = 0; ring < wire::kMaxRings && spare < kSpareRings; ++ring) {
    if (!is_free(ring) || claimed[ring].load(std::memory_order_acquire)) continue;
    if (!populated[ring].load(std::memory_order_acquire)) {
      if (!claim(ring)) continue;
      const bool ready = make_ready(ring);
      claimed[ring].store(false, std::memory_order_release);
      if (!ready) break;
    }
    ++spare;
  }
  if (spare > 0) all_taken.store(false, std::memory_order_relaxed);
}

}  // namespace dprof::inject
