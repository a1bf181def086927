// SPDX-License-Identifier: Apache-2.0
// One trace as the drain writes it: rows that cannot be written are counted, and never stop the
// drain.
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

// A gap begins when a write fails (disk full, …) and ends when one succeeds again. Rows not
// committed by then, and rows within the gap, are left out and counted, except rows that others
// refer to (schema::kOutlivesFailure).
//
// Invariant  rows that do not outlive a failure: appended == committed + not yet committed +
//            unwritten().
// Threading  one thread at a time.
class TraceOutput {
 public:
  // The time between retries of commit() within a gap.
  static constexpr std::chrono::seconds kRetry{1};

  explicit TraceOutput(std::unique_ptr<schema::TraceWriter> writer);
  static Result<std::unique_ptr<TraceOutput>> create(
      const std::filesystem::path& path,
      schema::TraceWriter::Journal journal = schema::TraceWriter::Journal::kWriteAhead);
  // Begins within a gap if the file cannot be created at present.
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

  // From now on, rows with a time are held until decide(), and only those for which keeps(begin_ns)
  // is true are written.
  void hold_rows(std::function<bool(int64_t)> keeps) { hold_.emplace(std::move(keeps)); }
  // Decides on the rows that begin before then.
  void decide(int64_t until_ns);
  // A row that need not be held.
  void append_capture(schema::CaptureRow row) {
    row.id = ++last_ids_[schema::CaptureRow::kTable.name];
    write(row);
  }

  // Runs one statement after all appended rows; returns the number of rows changed. query_int
  // returns the first value; 0 if it is not available.
  int64_t change(const std::string& sql);
  int64_t query_int(const std::string& sql);
  void delete_unused_traits() { note(writer_->delete_unused_traits()); }
  // Appended events that are not in the trace, as requested: outside of the windows, or older than
  // the flight recorder keeps.
  [[nodiscard]] int64_t left_out() const {
    return deleted_events_ + (hold_ ? hold_->left_out() : 0);
  }
  void count_deleted(int64_t events) { deleted_events_ += events; }

  // Within a gap it retries, at most once per kRetry.
  void commit();
  [[nodiscard]] bool in_gap() const { return gap_ != nullptr; }
  // Within a gap: the error that began it.
  [[nodiscard]] const Error& gap_cause() const { return gap_->why; }
  // Ends the gap now if possible: true if there is no gap any more. The trace then contains what
  // the gap cost.
  bool end_gap();

  // All appended rows are in the trace, or counted there as a loss: false if that is impossible.
  bool settle();
  // Settles, if possible, and keeps the file closed until the next write.
  void rest();
  // Settles and makes it one plain file, like TraceWriter::finish(). A failed call can be repeated.
  Result<bool> finish();

  // Notes diagnostics of severity data_loss or error from append_diagnostic(), the first of each
  // code: for users who do not read the trace.
  void note_trouble(std::string_view code, const std::string& text) {
    troubles_.try_emplace(std::string(code), text);
  }
  [[nodiscard]] const std::map<std::string, std::string>& troubles() const { return troubles_; }

  // Rows missing from the trace because of a failure, and the first failure.
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
