// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/trace_output.h"

#include <fmt/format.h>

namespace dprof::recorder {

Result<std::unique_ptr<TraceOutput>> TraceOutput::create(const std::filesystem::path& path,
                                                         schema::TraceWriter::Journal journal) {
  Result<std::unique_ptr<schema::TraceWriter>> writer = schema::TraceWriter::create(path, journal);
  if (!writer.ok()) return fail(writer.error());
  return std::make_unique<TraceOutput>(*std::move(writer));
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
      [this](std::string_view table, int64_t id) {
        return query_int(fmt::format("SELECT count(*) FROM \"{}\" WHERE id = {}", table, id)) != 0;
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
  note(writer_->commit());
  uncommitted_ = 0;
}

Status TraceOutput::reopen(const std::filesystem::path& path) {
  writer_.reset();  // the old connection goes first: it may hold a lock
  Result<std::unique_ptr<schema::TraceWriter>> writer = schema::TraceWriter::reopen(path);
  if (!writer.ok()) return fail(writer.error());
  writer_ = *std::move(writer);
  return Done{};
}

Result<bool> TraceOutput::finish() {
  decide(INT64_MAX);
  commit();
  return writer_->finish();
}

}  // namespace dprof::recorder
