// SPDX-License-Identifier: Apache-2.0
// The append-only string arena. An id is an offset in 8-byte units (0 = none); an entry is {length,
// hash, bytes}. fetch_add reserves space, so threads share no lock; an entry is complete before the
// record that refers to it is published. Two threads can append the same text: the recorder interns
// by content.
#pragma once

#include <cstring>

#include "collector/wire/layout.h"

namespace dprof::wire {

struct ArenaEntry {
  uint32_t length;  // bytes of text that follow
  uint32_t hash;
};
static_assert(sizeof(ArenaEntry) == 8);
inline constexpr uint32_t kArenaUnit = 8;

[[nodiscard]] inline uint32_t text_hash(const char* text, size_t length) noexcept {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (size_t i = 0; i < length; ++i)
    hash = (hash ^ static_cast<unsigned char>(text[i])) * 16777619u;
  return hash;
}

// Appends a text (cut to kMaxTextBytes, counted). Returns 0 when the arena is full (counted). Cold:
// callers keep the id.
[[gnu::noinline]] inline uint32_t arena_append(const Mapping& mapping, const char* text,
                                               size_t length, uint64_t ticks) noexcept {
  Header& header = *mapping.header();
  if (length == 0) return 0;
  if (length > kMaxTextBytes) {
    length = kMaxTextBytes;
    count_loss(header.losses[static_cast<uint32_t>(SharedLoss::kTextCut)], ticks);
  }
  const uint64_t need = (sizeof(ArenaEntry) + length + kArenaUnit - 1) / kArenaUnit * kArenaUnit;
  if (header.arena_used.load(std::memory_order_relaxed) + need > kArenaBytes) {
    count_loss(header.losses[static_cast<uint32_t>(SharedLoss::kArenaFull)], ticks);
    return 0;
  }
  const uint64_t at = header.arena_used.fetch_add(need, std::memory_order_relaxed);
  if (at + need > kArenaBytes) {
    count_loss(header.losses[static_cast<uint32_t>(SharedLoss::kArenaFull)], ticks);
    return 0;
  }
  unsigned char* place = mapping.arena() + at;
  const ArenaEntry entry{static_cast<uint32_t>(length), text_hash(text, length)};
  std::memcpy(place + sizeof entry, text, length);
  std::memcpy(place, &entry, sizeof entry);
  return static_cast<uint32_t>(at / kArenaUnit);
}

// The text of an id in an untrusted arena; length 0 for an invalid id. Points into the mapping:
// copy it.
struct ArenaText {
  const char* text = nullptr;
  uint32_t length = 0;
};
[[nodiscard]] inline ArenaText arena_text(const Mapping& mapping, uint32_t id) noexcept {
  const uint64_t at = uint64_t{id} * kArenaUnit;
  if (id == 0 || at + sizeof(ArenaEntry) > kArenaBytes) return {};
  ArenaEntry entry;
  std::memcpy(&entry, mapping.arena() + at, sizeof entry);
  if (entry.length > kMaxTextBytes || at + sizeof entry + entry.length > kArenaBytes) return {};
  return {reinterpret_cast<const char*>(mapping.arena() + at + sizeof entry), entry.length};
}

// The first unit is never handed out, so id 0 means none.
inline void arena_start(const Mapping& mapping) noexcept {
  mapping.header()->arena_used.store(kArenaUnit, std::memory_order_relaxed);
}

}  // namespace dprof::wire
