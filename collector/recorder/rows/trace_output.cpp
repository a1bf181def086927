// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/trace_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "collector/recorder/rows/inbox.h"

namespace dprof::recorder {

using std::chrono::steady_clock;

Result<std::unique_ptr<TraceOutput>> TraceOutput::create(const std::filesystem::path& path,
                                                         schema::TraceWriter::Journal journal) {
  Result<std::unique_ptr<schema::TraceWriter>> writer = schema::TraceWriter::create(path, journal);
  if (!writer.ok()) return fail(writer.error());
  return std::make_unique<TraceOutput>(*std::move(writer));
}

Result<std::unique_ptr<TraceOutput>> TraceOutput::create_when_possible(
    const std::filesystem::path& path, schema::TraceWriter::Journal journal) {
  Result<std::unique_ptr<schema::TraceWriter>> writer =
      schema::TraceWriter::create_when_possible(path, journal);
  if (!writer.ok()) return fail(writer.error());
  return std::make_unique<TraceOutput>(*std::move(writer));
}

TraceOutput::TraceOutput(std::unique_ptr<schema::TraceWriter> writer) : writer_(std::move(writer)) {
  if (const std::optional<Error>& why = writer_->failed()) lose_uncommitted(*why);
}

void TraceOutput::close_range(int64_t id, int64_t duration_ns) {
  if (hold_) {
    if (schema::HostRangeRow* row = hold_->find<schema::HostRangeRow>(id)) {
      row->duration_ns = duration_ns;
      return;
    }
  }
  note(writer_->close_range(id, duration_ns));
}

void TraceOutput::update_collective(const schema::CollectiveRow& row) {
  if (hold_) {
    if (schema::CollectiveRow* held = hold_->find<schema::CollectiveRow>(row.id)) {
      *held = row;
      return;
    }
  }
  note(writer_->update_collective(row));
}

void TraceOutput::decide(int64_t until_ns) {
  if (!hold_) return;
  hold_->decide(
      until_ns, [this](const auto& row) { write(row); },
      [this](int64_t range_id) {
        return query_int(fmt::format("SELECT count(*) FROM host_range WHERE id = {}", range_id)) !=
               0;
      });
}

int64_t TraceOutput::change(const std::string& sql) {
  const Result<int64_t> changed = writer_->change(sql);
  if (changed.ok()) return *changed;
  note(fail(changed.error()));
  return 0;
}

int64_t TraceOutput::query_int(const std::string& sql) {
  const Result<int64_t> value = writer_->query_int(sql);
  return value.ok() ? *value : 0;
}

void TraceOutput::commit() {
  if (gap_) {
    if (steady_clock::now() >= gap_->next_try) end_gap();
    return;
  }
  const Status committed = writer_->commit();
  note(committed);
  if (committed.ok()) uncommitted_.clear();
}

// Their transaction is gone.
void TraceOutput::lose_uncommitted(const Error& why) {
  if (!failure_) failure_ = why;
  if (!gap_) {
    gap_ = std::make_unique<Gap>();
    gap_->why = why;
  }
  unwritten_ += uncommitted_.rows();
  gap_->lost.absorb(uncommitted_);
}

bool TraceOutput::end_gap() {
  if (!gap_) return true;
  gap_->next_try = steady_clock::now() + kRetry;
  if (!writer_->resume().ok()) return false;
  const std::chrono::duration<double> lasted = steady_clock::now() - gap_->since;
  const std::vector<RowTally::Entry> lost = gap_->lost.entries();
  const int64_t rows = gap_->lost.rows();
  const std::string why = gap_->why.what;
  gap_.reset();
  std::map<std::string_view, int64_t> by_table;
  for (const RowTally::Entry& entry : lost) {
    append(schema::LossRow{schema::Source::kRecorder, entry.thread_id, schema::LossReason::kDisk,
                           entry.rows, entry.first_ns, entry.last_ns});
    by_table[entry.table] += entry.rows;
  }
  std::vector<std::string> tables;
  for (const auto& [table, count] : by_table) tables.push_back(fmt::format("{} {}", count, table));
  append_diagnostic(*this, "write_gap", rows,
                    fmt::format("for {:.1f} s ({}); rows that are missing: {}", lasted.count(), why,
                                tables.empty() ? "none" : fmt::to_string(fmt::join(tables, ", "))));
  note(writer_->commit());
  return !gap_;
}

bool TraceOutput::settle() {
  if (!end_gap()) return false;
  decide(INT64_MAX);
  commit();
  return !in_gap();
}

void TraceOutput::rest() {
  if (settle()) note(writer_->rest());
}

Result<bool> TraceOutput::finish() {
  if (!settle()) return fail(gap_cause());
  Result<bool> finished = writer_->finish();
  if (!finished.ok()) lose_uncommitted(finished.error());
  return finished;
}

}  // namespace dprof::recorder
