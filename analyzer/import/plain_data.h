// SPDX-License-Identifier: Apache-2.0
// Data of plain containers and values, from a pickle or from JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dprof::analyzer {

// A tree or, since pickle allows it, a graph: a node can occur several times, even in itself. So it
// must not be traversed completely; readers ask for the keys they know.
//
// Memory  16 bytes per node; 32 more and the text of a text, 24 more and 4 per item of a container.
class PlainData {
 public:
  enum class Kind : uint8_t { kNone, kBool, kInteger, kReal, kText, kList, kDict, kOutOfRange };
  using Id = uint32_t;
  static constexpr Id kNothing = UINT32_MAX;
  static constexpr size_t kMostNodes = 64'000'000;

  // --- making ---
  [[nodiscard]] bool is_full() const { return nodes_.size() >= kMostNodes; }
  Id add(Kind kind, int64_t integer = 0);
  Id add_real(double value);
  Id add_text(std::string_view text);
  void append(Id list, Id item) { items(list).push_back(item); }
  void set(Id dict, Id key, Id value);  // a dict's items alternate keys and values
  void set_root(Id root) { root_ = root; }

  // --- reading; kNothing gives nothing ---
  [[nodiscard]] Id root() const { return root_; }
  [[nodiscard]] Kind kind(Id id) const;
  [[nodiscard]] Id find(Id dict, std::string_view key) const;  // O(entries)
  [[nodiscard]] size_t size(Id list_or_dict) const;
  [[nodiscard]] Id item(Id list, size_t index) const;
  [[nodiscard]] std::pair<Id, Id> entry(Id dict, size_t index) const;
  [[nodiscard]] std::optional<int64_t> integer(Id id) const;  // also from a text that is one
  [[nodiscard]] std::optional<bool> boolean(Id id) const;
  [[nodiscard]] std::optional<std::string_view> text(Id id) const;

 private:
  struct Node {
    int64_t value = 0;  // a real's bits; for others the position in texts_ or items_
    Kind kind = Kind::kNone;
  };
  [[nodiscard]] std::vector<Id>& items(Id id) {
    return items_[static_cast<size_t>(nodes_[id].value)];
  }
  [[nodiscard]] const std::vector<Id>& items(Id id) const {
    return items_[static_cast<size_t>(nodes_[id].value)];
  }
  [[nodiscard]] const std::string& text_of(Id id) const {
    return texts_[static_cast<size_t>(nodes_[id].value)];
  }

  std::vector<Node> nodes_;
  std::vector<std::string> texts_;
  std::vector<std::vector<Id>> items_;
  Id root_ = kNothing;
};

// A pickle of plain containers, protocols 2 to 5. Nothing is ever executed: an opcode that would
// name a class, call something or refer outside of the file is refused, and named. kNotATrace or
// kDamaged.
Result<PlainData> read_pickle(std::string_view bytes);

// One JSON value. Nesting beyond 64 is refused.
Result<PlainData> read_json(std::string_view text);

}  // namespace dprof::analyzer
