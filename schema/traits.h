// SPDX-License-Identifier: Apache-2.0
// What rows of a table have in common is stored once, as a row of another table, their traits; the
// public view joins the two again (docs/design/schema.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schema/declaration.h"

namespace dprof::schema {

// Remembers the ids of traits that were written, within a limit.
//
// Threading  one thread.
// Cost       0.2 us; at most kMost entries of about 200 bytes.
template <typename TraitsRow>
class TraitsIds {
 public:
  explicit TraitsIds(int64_t first_id) : next_id_(first_id) {}

  // The id of these traits; true if they must be written. Their `id` is ignored.
  std::pair<int64_t, bool> id_of(const TraitsRow& traits) {
    key_.clear();
    bool first = true;  // the id
    for_each_field(traits, [&](const auto& field) {
      if (!std::exchange(first, false)) add_to_key(field);
    });
    if (ids_.size() >= kMost && !ids_.contains(key_)) ids_.clear();
    const auto [at, is_new] = ids_.try_emplace(key_, next_id_);
    if (is_new) {
      ++next_id_;
      ++since_forgotten_;
    }
    return {at->second, is_new};
  }

  // As many were written since the last forget() as are remembered.
  [[nodiscard]] bool are_many() const { return since_forgotten_ >= kMost; }
  // What was written can be deleted afterwards.
  void forget() {
    ids_.clear();
    since_forgotten_ = 0;
  }

 private:
  // A program whose rows are all different must not fill the memory.
  static constexpr size_t kMost = 8192;

  void add_to_key(int64_t value) {
    key_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add_to_key(const std::string& text) {
    add_to_key(static_cast<int64_t>(text.size()));
    key_ += text;
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void add_to_key(Enum value) { add_to_key(static_cast<int64_t>(value)); }
  template <typename Value>
  void add_to_key(const std::optional<Value>& value) {
    key_ += value ? '+' : '-';
    if (value) add_to_key(*value);
  }

  int64_t next_id_;
  size_t since_forgotten_ = 0;
  std::string key_;
  std::unordered_map<std::string, int64_t> ids_;
};

// Traits by their ids, as they were read. Damaged ids take no memory.
template <typename TraitsRow>
class TraitsTable {
 public:
  void add(const TraitsRow& traits) {
    if (traits.id == static_cast<int64_t>(rows_.size()) + 1) {
      rows_.push_back(traits);
    } else {
      others_.insert_or_assign(traits.id, traits);
    }
  }

  // Null: there are none of this id.
  [[nodiscard]] const TraitsRow* find(int64_t id) const {
    if (id > 0 && id <= static_cast<int64_t>(rows_.size()))
      return &rows_[static_cast<size_t>(id - 1)];
    const auto other = others_.find(id);
    return other != others_.end() ? &other->second : nullptr;
  }

 private:
  std::vector<TraitsRow> rows_;  // 1, 2, 3, …: all, unless a writer failed in between
  std::unordered_map<int64_t, TraitsRow> others_;
};

// "expression AS name, …" for all columns of a view: `own` is another expression for some of them
// (empty: none), the others are columns of `r`, the rows, or of `t`, their traits.
template <typename Own>
std::string view_columns(std::span<const Column> columns, std::span<const Column> in_rows,
                         Own&& own) {
  std::string list;
  for (const Column& column : columns) {
    std::string expression = own(column.name);
    if (expression.empty()) {
      const bool in_row = std::ranges::count(in_rows, column.name, &Column::name) != 0;
      expression = std::string(in_row ? "r." : "t.") + std::string(column.name);
    }
    list += (list.empty() ? "" : ", ") + expression + " AS \"" + std::string(column.name) + "\"";
  }
  return list;
}

}  // namespace dprof::schema
