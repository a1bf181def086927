// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/strings.h"

#include "collector/inject/memory.h"
#include "collector/inject/session.h"

namespace dprof::inject {
namespace {

constexpr uint32_t kTableEntries = 16384;
constexpr uint32_t kProbes = 16;
constexpr uint64_t kPopulateBytes = 256 << 10;

// Above this, numbers within names are collapsed, to leave room for other names.
constexpr uint64_t kCollapseAbove = wire::kArenaBytes / 4 * 3;
constexpr size_t kCollapsedBytes = 256;

constinit std::atomic<uint32_t> interned[kTableEntries] = {};
constinit std::atomic<uint64_t> populated_bytes = 0;

// Populates the pages, then appends to the arena; 0 if either is impossible.
uint32_t append(const wire::Mapping& mapping, const char* text, size_t length) noexcept {
  const uint64_t need = length + sizeof(wire::ArenaEntry) + wire::kArenaUnit;
  if (!populate_arena(mapping, need)) {
    wire::count_loss(mapping.header()->losses[static_cast<uint32_t>(wire::SharedLoss::kArenaFull)],
                     ticks());
    return 0;
  }
  return wire::arena_append(mapping, text, length, ticks());
}

// 0: not found; `place` is then the first free slot for it, or null.
uint32_t find(const wire::Mapping& mapping, const char* text, size_t length, uint32_t hash,
              std::atomic<uint32_t>*& place) noexcept {
  for (uint32_t probe = 0; probe < kProbes; ++probe) {
    std::atomic<uint32_t>& one = interned[(hash + probe) % kTableEntries];
    const uint32_t id = one.load(std::memory_order_acquire);
    if (id == 0) {
      place = &one;
      return 0;
    }
    const wire::ArenaText known = wire::arena_text(mapping, id);
    if (known.length == length && memcmp(known.text, text, length) == 0) return id;
  }
  return 0;
}

// "request 4711 of 90" becomes "request # of #". 0 if it has no number, or is too long.
size_t collapse_numbers(const char* text, size_t length, char* to) noexcept {
  size_t bytes = 0;
  bool has_number = false;
  for (size_t i = 0; i < length; ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (digit && i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9') continue;
    if (bytes == kCollapsedBytes) return 0;
    has_number |= digit;
    to[bytes++] = digit ? '#' : text[i];
  }
  return has_number ? bytes : 0;
}

}  // namespace

uint32_t TextCache::miss(const wire::Mapping& mapping, const char* text, Entry& entry) noexcept {
  const size_t length = strlen(text);
  const uint32_t id = intern(mapping, text, length);
  // A cut text would never compare equal: keep the cache entry for others.
  if (id != 0 && length <= wire::kMaxTextBytes) entry = {text, id};
  return id;
}

uint32_t intern(const wire::Mapping& mapping, const char* text, size_t length) noexcept {
  if (length == 0) return 0;
  if (length > wire::kMaxTextBytes) return append(mapping, text, length);
  const uint32_t hash = wire::text_hash(text, length);
  std::atomic<uint32_t>* place = nullptr;
  if (const uint32_t id = find(mapping, text, length, hash, place)) return id;
  char collapsed[kCollapsedBytes];
  if (mapping.header()->arena_used.load(std::memory_order_relaxed) > kCollapseAbove) {
    if (const size_t bytes = collapse_numbers(text, length, collapsed)) {
      wire::count_loss(mapping.header()->losses[static_cast<uint32_t>(wire::SharedLoss::kTextCut)],
                       ticks());
      return intern(mapping, collapsed, bytes);
    }
  }
  const uint32_t made = append(mapping, text, length);
  // If all its slots are taken, one entry is evicted: it is appended once more if it comes again.
  if (place == nullptr) place = &interned[(hash + made % kProbes) % kTableEntries];
  if (made != 0) place->store(made, std::memory_order_release);
  return made;
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
