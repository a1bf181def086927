// SPDX-License-Identifier: Apache-2.0
// Number of rows by table, thread and time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/recorder/rows/row_hold.h"

namespace dprof::recorder {

// Threading  one thread.
// Cost       a few ns per row: rows of one table and thread come one after the other.
class RowTally {
 public:
  struct Entry {
    std::string_view table;
    std::optional<int64_t> thread_id;
    int64_t rows = 0;
    std::optional<int64_t> first_ns, last_ns;
  };

  RowTally() = default;
  RowTally(const RowTally&) = delete;
  RowTally& operator=(const RowTally&) = delete;

  template <typename Row>
  void add(const Row& row) {
    std::optional<int64_t> thread_id;
    if constexpr (requires { row.thread_id; }) thread_id = row.thread_id;
    std::optional<int64_t> time_ns;
    if constexpr (requires { begin_of(row); }) time_ns = begin_of(row);
    add({Row::kTable.name, thread_id, 1, time_ns, time_ns});
  }
  // Takes over all of another tally, which is empty afterwards.
  void absorb(RowTally& other) {
    for (const auto& [key, entry] : other.entries_) add(entry);
    other.clear();
  }
  void clear() {
    entries_.clear();
    latest_ = nullptr;
    rows_ = 0;
  }

  [[nodiscard]] int64_t rows() const { return rows_; }
  // By table and thread.
  [[nodiscard]] std::vector<Entry> entries() const {
    std::vector<Entry> all;
    for (const auto& [key, entry] : entries_) all.push_back(entry);
    return all;
  }

 private:
  void add(const Entry& more) {
    if (latest_ == nullptr || latest_->thread_id != more.thread_id ||
        latest_->table != more.table) {
      latest_ = &entries_
                     .try_emplace({more.table, more.thread_id},
                                  Entry{more.table, more.thread_id, 0, {}, {}})
                     .first->second;
    }
    latest_->rows += more.rows;
    rows_ += more.rows;
    if (more.first_ns)
      latest_->first_ns = std::min(latest_->first_ns.value_or(*more.first_ns), *more.first_ns);
    if (more.last_ns)
      latest_->last_ns = std::max(latest_->last_ns.value_or(*more.last_ns), *more.last_ns);
  }

  std::map<std::pair<std::string_view, std::optional<int64_t>>, Entry> entries_;
  Entry* latest_ = nullptr;  // the entry last added to
  int64_t rows_ = 0;
};

}  // namespace dprof::recorder
