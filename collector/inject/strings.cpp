// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/strings.h"

#include "collector/inject/memory.h"
#include "collector/inject/session.h"

namespace dprof::inject {
namespace {

constexpr uint32_t kTableEntries = 16384;
constexpr uint32_t kProbes = 16;
constexpr uint64_t kPopulateBytes = 256 << 10;

constinit std::atomic<uint32_t> interned[kTableEntries] = {};
constinit std::atomic<uint64_t> populated_bytes = 0;

// Appends to the arena after seeing to its pages; 0 when that cannot be.
uint32_t append(const wire::Mapping& mapping, const char* text, size_t length) noexcept {
  const uint64_t need = length + sizeof(wire::ArenaEntry) + wire::kArenaUnit;
  if (!populate_arena(mapping, need)) {
    wire::count_loss(mapping.header()->losses[static_cast<uint32_t>(wire::SharedLoss::kArenaFull)],
                     ticks());
    return 0;
  }
  return wire::arena_append(mapping, text, length, ticks());
}

}  // namespace

uint32_t TextCache::miss(const wire::Mapping& mapping, const char* text, Entry& entry) noexcept {
  const size_t length = strlen(text);
  const uint32_t id = intern(mapping, text, length);
  // A cut text would never compare equal: leave the entry to others.
  if (id != 0 && length <= wire::kMaxTextBytes) entry = {text, id};
  return id;
}

uint32_t intern(const wire::Mapping& mapping, const char* text, size_t length) noexcept {
  if (length == 0) return 0;
  if (length > wire::kMaxTextBytes) return append(mapping, text, length);
  const uint32_t hash = wire::text_hash(text, length);
  uint32_t made = 0;
  for (uint32_t probe = 0; probe < kProbes; ++probe) {
    std::atomic<uint32_t>& place = interned[(hash + probe) % kTableEntries];
    uint32_t id = place.load(std::memory_order_acquire);
    if (id == 0) {
      if (made == 0) made = append(mapping, text, length);
      if (made == 0) return 0;
      if (place.compare_exchange_strong(id, made, std::memory_order_acq_rel)) return made;
    }
    const wire::ArenaText known = wire::arena_text(mapping, id);
    if (known.length == length && memcmp(known.text, text, length) == 0) return id;
  }
  return made != 0 ? made : append(mapping, text, length);
}

bool populate_arena(const wire::Mapping& mapping, uint64_t bytes_ahead) noexcept {
  const uint64_t used = mapping.header()->arena_used.load(std::memory_order_relaxed);
  const uint64_t wanted =
      used + bytes_ahead < wire::kArenaBytes ? used + bytes_ahead : wire::kArenaBytes;
  uint64_t done = populated_bytes.load(std::memory_order_acquire);
  while (done < wanted) {
    const uint64_t step =
        wire::kArenaBytes - done < kPopulateBytes ? wire::kArenaBytes - done : kPopulateBytes;
    if (!populate(mapping, wire::kArenaOffset + done, step)) return false;
    // Two threads may populate the same part: harmless.
    if (populated_bytes.compare_exchange_strong(done, done + step, std::memory_order_acq_rel)) {
      done += step;
    }
  }
  return true;
}

}  // namespace dprof::inject
