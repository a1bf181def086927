// SPDX-License-Identifier: Apache-2.0
// One trace as the drain writes it: what cannot be written is counted, and never stops the drain.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "collector/recorder/rows/row_hold.h"
#include "collector/recorder/rows/row_tally.h"
#include "schema/trace_writer.h"

namespace dprof::recorder {

// A gap begins when a write fails (disk full, …) and ends when one succeeds again. What was not
// committed by then, and what comes in it, is left out and counted; what other rows refer to is not
// (schema::kOutlivesFailure).
//
// Invariant  rows that do not outlive a failure: appended == committed + not yet committed +
//            unwritten().
// Threading  one thread at a time.
class TraceOutput {
 public:
  // So often a commit() within a gap tries again.
  static constexpr std::chrono::seconds kRetry{1};

  explicit TraceOutput(std::unique_ptr<schema::TraceWriter> writer);
  static Result<std::unique_ptr<TraceOutput>> create(
      const std::filesystem::path& path,
      schema::TraceWriter::Journal journal = schema::TraceWriter::Journal::kWriteAhead);
  // Begins within a gap where the file cannot be made at present.
  static Result<std::unique_ptr<TraceOutput>> create_when_possible(
      const std::filesystem::path& path, schema::TraceWriter::Journal journal);

  template <typename Row>
  void append(const Row& row) {
    if constexpr (kIsHeld<Row>) {
      if (hold_) return hold_->put(row);
    }
    write(row);
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
  void close_range(int64_t id, int64_t duration_ns);
  void update_collective(const schema::CollectiveRow& row);
  void set_thread(const schema::ThreadRow& row) { note(writer_->set_thread(row)); }
  void set_device(const schema::DeviceRow& row) { note(writer_->set_device(row)); }
  void set_stream(const schema::StreamRow& row) { note(writer_->set_stream(row)); }
  void set_communicator(const schema::CommunicatorRow& row) {
    note(writer_->set_communicator(row));
  }

  // From now on, rows with a time wait for decide(), and only those for which keeps(begin_ns) holds
  // are written.
  void hold_rows(std::function<bool(int64_t)> keeps) { hold_.emplace(std::move(keeps)); }
  // Rows that begin before then can be decided on.
  void decide(int64_t until_ns);
  // A row that need not wait.
  void append_capture(schema::CaptureRow row) {
    row.id = ++last_ids_[schema::CaptureRow::kTable.name];
    write(row);
  }

  // Runs one statement after all that was appended; the number of rows that it changed. Of
  // query_int, the first value; 0 when it cannot be had.
  int64_t change(const std::string& sql);
  int64_t query_int(const std::string& sql);
  // Events that were appended and are not in the trace, as asked for: outside of the windows, or
  // older than the flight recorder keeps.
  [[nodiscard]] int64_t left_out() const {
    return deleted_events_ + (hold_ ? hold_->left_out() : 0);
  }
  void count_deleted(int64_t events) { deleted_events_ += events; }

  // Within a gap it tries to go on, at most each kRetry.
  void commit();
  [[nodiscard]] bool in_gap() const { return gap_ != nullptr; }
  // Within a gap: what began it.
  [[nodiscard]] const Error& gap_cause() const { return gap_->why; }
  // Goes on now if that can be: true where there is no gap any more. What the gap cost then stands
  // in the trace.
  bool end_gap();

  // All that was appended is in the trace, or counted there as a loss: false where it cannot be.
  bool settle();
  // Settles, if it can, and keeps the file closed until something is written again.
  void rest();
  // Settles and makes one plain file of it, as TraceWriter::finish(). What fails can be tried
  // again.
  Result<bool> finish();

  // What append_diagnostic() wrote of severity data_loss or error, the first of each code: for
  // those who will not look into the trace.
  void note_trouble(std::string_view code, const std::string& text) {
    troubles_.try_emplace(std::string(code), text);
  }
  [[nodiscard]] const std::map<std::string, std::string>& troubles() const { return troubles_; }

  // Rows that are not in the trace because of a failure, and the first failure.
  [[nodiscard]] int64_t unwritten() const { return unwritten_; }
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  // The recorder itself failed.
  void give_up(Error error) { note(fail(std::move(error))); }

 private:
  struct Gap {
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point next_try = since + kRetry;
    Error why;
    RowTally lost;
  };

  template <typename Row>
  void write(const Row& row) {
    if constexpr (!schema::kOutlivesFailure<Row>) uncommitted_.add(row);
    note(writer_->append(row));
  }
  void note(const Status& status) {
    if (!status.ok()) lose_uncommitted(status.error());
  }
  void lose_uncommitted(const Error& why);

  std::unique_ptr<schema::TraceWriter> writer_;
  std::map<std::string_view, int64_t> last_ids_;
  std::optional<RowHold> hold_;
  std::map<std::string, std::string> troubles_;
  int64_t deleted_events_ = 0;
  RowTally uncommitted_;
  std::unique_ptr<Gap> gap_;
  int64_t unwritten_ = 0;
  std::optional<Error> failure_;
};

}  // namespace dprof::recorder
