// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/cuda/cupti_sink.h"

#include <cstdio>
#include <cstring>
#include <ctime>

#include "collector/inject/session.h"
#include "collector/inject/strings.h"
#include "collector/wire/ticks.h"

namespace dprof::inject {
namespace {

constexpr uint64_t kRoomWaitNs = 100'000'000;
constexpr long kNapNs = 1'000'000;
constexpr uint32_t kCallbacks = 1024;  // of each domain; there are about 800
constexpr uint64_t kRoom = 4 * wire::kEndReserve;

constinit const cupti::Table* sink_functions = nullptr;
constinit uint32_t api_names[2][kCallbacks] = {};

uint32_t text(void* user, const char* words) noexcept {
  return static_cast<ThreadState*>(user)->texts.id_of(runtime.mapping, words);
}

uint32_t api_name(void*, cupti::Domain domain, uint32_t callback_id) noexcept {
  uint32_t* known = callback_id < kCallbacks
                        ? &api_names[domain == cupti::Domain::kRuntime ? 1 : 0][callback_id]
                        : nullptr;
  if (known != nullptr && *known != 0) return *known;
  const char* name = nullptr;
  char plain[128];
  if (sink_functions->get_callback_name(domain, callback_id, &name) == cupti::kSuccess &&
      name != nullptr) {
    plain_api_name(name, plain, sizeof plain);
  } else {
    snprintf(plain, sizeof plain, "%s call %u",
             domain == cupti::Domain::kRuntime ? "runtime" : "driver", callback_id);
  }
  const uint32_t id = intern(runtime.mapping, plain, strlen(plain));
  if (known != nullptr) *known = id;
  return id;
}

bool write_decoded(void* user, const wire::Record& record, const void* more,
                   uint32_t more_bytes) noexcept {
  wire::RingWriter& writer = static_cast<ThreadState*>(user)->writer;
  return more != nullptr ? writer.push(record, more, more_bytes) : writer.push(record);
}

bool has_room(const ThreadState& thread) noexcept {
  const wire::RingShared& ring = *runtime.mapping.ring(thread.ring);
  const uint64_t used =
      ring.head.load(std::memory_order_relaxed) - ring.tail.load(std::memory_order_acquire);
  return used + kRoom <= wire::kRingSlots;
}

}  // namespace

cupti::Sink sink_of(ThreadState* thread, const cupti::Table& table) noexcept {
  sink_functions = &table;
  return {thread, &text, &api_name, &write_decoded};
}

bool wait_for_room(uint64_t deadline_ns) noexcept {
  const ThreadState* thread = thread_state;
  if (thread == nullptr) return false;
  if (has_room(*thread)) return true;
  uint64_t now = wire::monotonic_ns();
  const uint64_t until = now + kRoomWaitNs < deadline_ns ? now + kRoomWaitNs : deadline_ns;
  for (; now < until; now = wire::monotonic_ns()) {
    const timespec nap{0, kNapNs};
    nanosleep(&nap, nullptr);
    if (has_room(*thread)) return true;
  }
  return false;
}

void plain_api_name(const char* name, char* plain, size_t bytes) noexcept {
  snprintf(plain, bytes, "%s", name);
  // The runtime's names end in the version that introduced them, four digits or more; a driver's
  // _v2 is part of its name.
  char* version = strrchr(plain, '_');
  if (version != nullptr && version[1] == 'v' && strlen(version) >= 6 &&
      strspn(version + 2, "0123456789") == strlen(version) - 2) {
    *version = '\0';
  }
  char* per_thread = strrchr(plain, '_');
  if (per_thread != nullptr &&
      (strcmp(per_thread, "_ptsz") == 0 || strcmp(per_thread, "_ptds") == 0)) {
    *per_thread = '\0';
  }
}

}  // namespace dprof::inject
