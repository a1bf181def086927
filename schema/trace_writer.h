// SPDX-License-Identifier: Apache-2.0
// Writes one rank's trace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"
#include "schema/database.h"
#include "schema/generated/rows.h"
#include "schema/packed_gpu_activity.h"

namespace dprof::schema {

// Rows that other rows refer to, and rows that say which are missing: TraceWriter::resume() writes
// them again if a failure has lost them.
template <typename Row>
inline constexpr bool kOutlivesFailure =
    std::is_same_v<Row, StringRow> || std::is_same_v<Row, ThreadRow> ||
    std::is_same_v<Row, DeviceRow> || std::is_same_v<Row, StreamRow> ||
    std::is_same_v<Row, CommunicatorRow> || std::is_same_v<Row, CommunicatorMemberRow> ||
    std::is_same_v<Row, CommunicatorMembersRow> || std::is_same_v<Row, CollectiveTraitsRow> ||
    std::is_same_v<Row, GpuActivityTraitsRow> || std::is_same_v<Row, NvtxSchemaRow> ||
    std::is_same_v<Row, CaptureRow> || std::is_same_v<Row, LossRow> ||
    std::is_same_v<Row, DiagnosticRow>;

// Rows are gathered, inserted many at a time, and become durable (against the death of this
// process) with commit().
//
// Invariant  the file has dprof's application_id and user_version from the first moment.
// Threading  one thread at a time; each trace has its own writer.
// Errors     the first failure (disk full, …) is kept: later appends return it and write nothing
//            until resume() succeeds; the caller counts what it could not write as a loss.
// Cost       about 0.4 us per row.
class TraceWriter {
 public:
  // kRollback needs no shared memory, which network file systems lack; the trace cannot be read
  // before it is finished. kNone is the fastest: it cannot be read before either, and a file is
  // useless after a failed write or the death of its writer.
  enum class Journal : uint8_t { kWriteAhead, kRollback, kNone };

  // kSmall: at most about 1 MiB is expected. It is then written as finish() would rewrite it.
  enum class Size : uint8_t { kUnknown, kSmall };

  // Refuses an existing path.
  static Result<std::unique_ptr<TraceWriter>> create(const std::filesystem::path& path,
                                                     Journal journal = Journal::kWriteAhead,
                                                     Size size = Size::kUnknown);

  // The same for a recorder, which cannot choose another time: if the file cannot be made at
  // present (disk full, …), the writer starts in the failed state, and resume() makes the file.
  static Result<std::unique_ptr<TraceWriter>> create_when_possible(
      const std::filesystem::path& path, Journal journal = Journal::kWriteAhead);

  // Opens a trace to add to it. SQLite restores what was committed before its writer died. Where no
  // journal is named, what is added is on the disk before commit() returns.
  static Result<std::unique_ptr<TraceWriter>> reopen(const std::filesystem::path& path,
                                                     std::optional<Journal> journal = {});
  ~TraceWriter();

  // Appends one row. Row numbers (`id`) are the caller's. Row: any of generated/rows.h except
  // MetaRow, StringRow and KernelShapeRow, which comes with its kernel.
  template <typename Row>
  Status append(const Row& row);
  Status append(const ShapedActivity& shaped);

  // The id of a text, which is written to `string` if it is new. Id 0 is the empty text.
  int64_t intern(std::string_view text);

  // Sets a key of `meta` (declared in tables.h); the last value counts.
  void set_meta(std::string_view key, std::string_view value);

  // Completes rows that were written while still open.
  Status close_range(int64_t host_range_id, int64_t duration_ns);
  Status update_collective(const CollectiveRow& row);  // by id: all of it
  Status set_thread(const ThreadRow& row);             // by id: name and role
  Status set_device(const DeviceRow& row);             // these create the row if it does not exist
  Status set_stream(const StreamRow& row);
  Status set_communicator(const CommunicatorRow& row);

  // Runs one statement in the open transaction, after everything appended; returns the number of
  // rows changed, and the first column of a query's first row.
  Result<int64_t> change(const std::string& sql);
  Result<int64_t> query_int(const std::string& sql);

  // If old rows are deleted: deletes the traits that no row uses any more, when they are many.
  Status delete_unused_traits();

  // Inserts the gathered rows and commits. Call every 100 to 250 ms.
  Status commit();

  // Commits, and closes the file until the next write: for traces that are idle for long. An open
  // file costs up to 2 MB of SQLite's cache and three descriptors.
  Status rest();

  // The failure that prevents writing, until resume() succeeds.
  [[nodiscard]] const std::optional<Error>& failed() const;

  // After a failure: discards the transaction, reopens the file and continues. Texts, meta, rows
  // that survive a failure, and the ends of rows already in the file are written again, so that ids
  // stay right. Other rows since the last commit are lost.
  Status resume();

  // Commits, creates the views, checkpoints, and leaves one plain file (journal_mode=DELETE). The
  // writer is then closed. False: everything is written, but a reader has the trace open, so its
  // journal stays beside it until the last reader leaves; such a file must not be renamed.
  Result<bool> finish();

  [[nodiscard]] int64_t rows() const;  // appended so far, excluding `string` and `meta`

 private:
  struct Impl;
  static Result<std::unique_ptr<TraceWriter>> adopt(Database database, std::string settings);
  static std::unique_ptr<TraceWriter> started(std::unique_ptr<Impl> impl);
  explicit TraceWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dprof::schema
