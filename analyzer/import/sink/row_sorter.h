// SPDX-License-Identifier: Apache-2.0
// Sorts any number of small records in bounded memory: full blocks are sorted and appended to an
// unlinked file, and merged at the end.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <queue>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"

namespace dprof::analyzer {

// A file without a name: it disappears with the process.
class SpillFile {
 public:
  SpillFile() = default;
  SpillFile(SpillFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}
  SpillFile& operator=(SpillFile&&) = delete;
  ~SpillFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  // Appends; returns the offset.
  Result<int64_t> append(const std::filesystem::path& folder, const void* data, size_t bytes);
  Status read(int64_t offset, void* data, size_t bytes) const;

 private:
  int fd_ = -1;
  int64_t size_ = 0;
};

// Record: trivially copyable, with operator<; the sorter sets `order`, so that equal ones keep
// their order.
//
// Cost       memory: kBlockBytes while adding, the same again while merging several blocks.
template <typename Record>
class RowSorter {
  static_assert(std::is_trivially_copyable_v<Record>);

 public:
  static constexpr size_t kBlockBytes = size_t{32} << 20;
  static constexpr size_t kBlockRows = kBlockBytes / sizeof(Record);

  explicit RowSorter(std::filesystem::path folder, size_t block_rows = kBlockRows)
      : folder_(std::move(folder)), block_rows_(block_rows) {}

  Status add(Record record) {
    record.order = added_++;
    block_.push_back(record);
    if (block_.size() < block_rows_) return Done{};
    return spill();
  }

  [[nodiscard]] int64_t size() const { return added_; }

  // Visits all records in order and discards them. visit: Status(const Record&).
  template <typename Visit>
  Status drain(Visit&& visit) {
    if (runs_.empty()) {
      std::sort(block_.begin(), block_.end());
      for (const Record& record : block_) {
        if (Status done = visit(record); !done.ok()) return done;
      }
      block_ = {};
      return Done{};
    }
    if (Status done = spill(); !done.ok()) return done;
    block_ = {};
    return merge(visit);
  }

 private:
  struct Run {
    int64_t next;               // offset in the file
    int64_t left;               // unread records in the file
    std::vector<Record> ahead;  // read, not yet visited
    size_t at = 0;
  };

  Status spill() {
    if (block_.empty()) return Done{};
    std::sort(block_.begin(), block_.end());
    const Result<int64_t> offset =
        file_.append(folder_, block_.data(), block_.size() * sizeof(Record));
    if (!offset.ok()) return fail(offset.error());
    runs_.push_back({*offset, static_cast<int64_t>(block_.size()), {}});
    block_.clear();
    return Done{};
  }

  Status refill(Run& run, size_t rows) {
    const size_t count = std::min(rows, static_cast<size_t>(run.left));
    run.ahead.resize(count);
    run.at = 0;
    if (count == 0) return Done{};
    if (Status done = file_.read(run.next, run.ahead.data(), count * sizeof(Record)); !done.ok()) {
      return done;
    }
    run.next += static_cast<int64_t>(count * sizeof(Record));
    run.left -= static_cast<int64_t>(count);
    return Done{};
  }

  template <typename Visit>
  Status merge(Visit&& visit) {
    const size_t rows = std::max<size_t>(64, block_rows_ / runs_.size());
    const auto later = [&](size_t a, size_t b) {
      return runs_[b].ahead[runs_[b].at] < runs_[a].ahead[runs_[a].at];
    };
    std::priority_queue<size_t, std::vector<size_t>, decltype(later)> next(later);
    for (size_t i = 0; i < runs_.size(); ++i) {
      if (Status done = refill(runs_[i], rows); !done.ok()) return done;
      if (!runs_[i].ahead.empty()) next.push(i);
    }
    while (!next.empty()) {
      const size_t i = next.top();
      next.pop();
      Run& run = runs_[i];
      if (Status done = visit(run.ahead[run.at]); !done.ok()) return done;
      if (++run.at == run.ahead.size()) {
        if (Status done = refill(run, rows); !done.ok()) return done;
      }
      if (!run.ahead.empty()) next.push(i);
    }
    runs_.clear();
    return Done{};
  }

  std::filesystem::path folder_;
  size_t block_rows_;
  int64_t added_ = 0;
  std::vector<Record> block_;
  std::vector<Run> runs_;
  SpillFile file_;
};

}  // namespace dprof::analyzer
