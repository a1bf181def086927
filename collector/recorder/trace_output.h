// SPDX-License-Identifier: Apache-2.0
// One trace as the drain writes it: what cannot be written is counted, and never stops the drain.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "schema/trace_writer.h"

namespace dprof::recorder {

// Invariant  rows appended == rows committed + rows not yet committed + unwritten().
// Threading  one thread at a time.
class TraceOutput {
 public:
  explicit TraceOutput(std::unique_ptr<schema::TraceWriter> writer) : writer_(std::move(writer)) {}
  static Result<std::unique_ptr<TraceOutput>> create(const std::filesystem::path& path);

  template <typename Row>
  void append(const Row& row) {
    ++uncommitted_;
    note(writer_->append(row));
  }
  // The same with the next row number of its table: for tables with several writers.
  template <typename Row>
  int64_t append_numbered(Row row) {
    row.id = ++last_ids_[Row::kTable.name];
    append(row);
    return row.id;
  }
  int64_t intern(std::string_view text) { return writer_->intern(text); }
  void set_meta(std::string_view key, std::string_view value) { writer_->set_meta(key, value); }
  void close_range(int64_t id, int64_t duration_ns) { note(writer_->close_range(id, duration_ns)); }
  void update_collective(const schema::CollectiveRow& row) {
    note(writer_->update_collective(row));
  }
  void set_thread(const schema::ThreadRow& row) { note(writer_->set_thread(row)); }
  void set_communicator(const schema::CommunicatorRow& row) {
    note(writer_->set_communicator(row));
  }

  void commit();

  // After a failure: opens the file again, in case there is room now, so that at least the loss and
  // the end can be written.
  Status reopen(const std::filesystem::path& path);

  // Makes one plain file of it.
  // As TraceWriter::finish().
  Result<bool> finish();

  // Rows that are not in the trace because of a failure (disk full, …), and the first failure.
  [[nodiscard]] int64_t unwritten() const { return unwritten_; }
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  void note(Status status) {
    if (status.ok()) return;
    if (!failure_) failure_ = status.error();
    unwritten_ += uncommitted_;  // the transaction that they stood in is gone
    uncommitted_ = 0;
  }

  std::unique_ptr<schema::TraceWriter> writer_;
  std::map<std::string_view, int64_t> last_ids_;
  int64_t uncommitted_ = 0;
  int64_t unwritten_ = 0;
  std::optional<Error> failure_;
};

}  // namespace dprof::recorder
