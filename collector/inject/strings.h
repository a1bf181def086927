// SPDX-License-Identifier: Apache-2.0
// Text to arena id. A per-thread cache by address, checked by content (temporary buffers reuse
// addresses, and another library can be mapped where one was unloaded), then a table by content,
// shared by all threads, then the arena. So each text is written once, whatever buffer it comes
// from.
//
// Threading  the cache belongs to its thread; the table is lock-free.
// Cost       a hit in the cache is one string compare; a miss hashes the text.
#pragma once

#include <cstring>

#include "collector/wire/arena.h"

namespace dprof::inject {

class TextCache {
 public:
  // HOT PATH. Budget: 20 ns on a hit with a name of 20 bytes. 0 for an empty or null text, and when
  // the arena is full.
  [[nodiscard]] uint32_t id_of(const wire::Mapping& mapping, const char* text) noexcept {
    if (text == nullptr) return 0;
    Entry& entry = entries_[slot_of(text)];
    if (entry.text == text && entry.id != 0 && same(mapping, entry.id, text)) return entry.id;
    return miss(mapping, text, entry);
  }

  void clear() noexcept { memset(static_cast<void*>(entries_), 0, sizeof entries_); }

 private:
  struct Entry {
    const char* text = nullptr;
    uint32_t id = 0;
  };
  static constexpr uint32_t kEntries = 256;

  [[nodiscard]] static uint32_t slot_of(const char* text) noexcept {
    const auto address = reinterpret_cast<uintptr_t>(text);
    return static_cast<uint32_t>((address >> 3) ^ (address >> 12)) % kEntries;
  }
  [[nodiscard]] static bool same(const wire::Mapping& mapping, uint32_t id,
                                 const char* text) noexcept {
    const wire::ArenaText known = wire::arena_text(mapping, id);
    return strncmp(text, known.text, known.length) == 0 && text[known.length] == '\0';
  }
  [[gnu::noinline]] static uint32_t miss(const wire::Mapping& mapping, const char* text,
                                         Entry& entry) noexcept;

  Entry entries_[kEntries] = {};
};

// The id of a text by content; appends new texts. Cold: callers keep the id.
[[nodiscard]] uint32_t intern(const wire::Mapping& mapping, const char* text,
                              size_t length) noexcept;

// Keeps the arena's pages ahead of its end populated; called by the helper and before an append.
bool populate_arena(const wire::Mapping& mapping, uint64_t bytes_ahead) noexcept;

}  // namespace dprof::inject
