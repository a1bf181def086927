// SPDX-License-Identifier: Apache-2.0
// A few dozen known words, looked up millions of times.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace dprof::analyzer::kineto {

template <typename Key>
struct Named {
  std::string_view name;
  Key key;
};

// Open addressing; a miss usually costs one comparison. Built once, then immutable.
template <typename Key, size_t kSlots>
class KeyTable {
 public:
  template <size_t kNames>
  explicit KeyTable(const Named<Key> (&names)[kNames]) {
    static_assert(kNames * 2 <= kSlots);
    for (const Named<Key>& entry : names) {
      size_t slot = slot_of(entry.name);
      while (!slots_[slot].name.empty()) slot = (slot + 1) % kSlots;
      slots_[slot] = entry;
    }
  }

  [[nodiscard]] std::optional<Key> find(std::string_view name) const {
    if (name.empty()) return std::nullopt;
    for (size_t slot = slot_of(name); !slots_[slot].name.empty(); slot = (slot + 1) % kSlots) {
      if (slots_[slot].name == name) return slots_[slot].key;
    }
    return std::nullopt;
  }

 private:
  // Length and three characters distinguish the words well enough.
  static size_t slot_of(std::string_view name) {
    const auto c = [&](size_t i) {
      return static_cast<size_t>(static_cast<unsigned char>(name[i]));
    };
    return (name.size() * 7 + c(0) * 3 + c(name.size() / 2) * 13 + c(name.size() - 1) * 31) %
           kSlots;
  }

  std::array<Named<Key>, kSlots> slots_{};
};

}  // namespace dprof::analyzer::kineto
