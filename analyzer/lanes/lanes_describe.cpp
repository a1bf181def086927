// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analyzer/lanes/lanes.h"
#include "base/format.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;
using schema::Column;
using schema::TraceReader;

// A trace, and the mapping of its times to the run's axis.
struct EventSource {
  const TraceReader& reader;
  int64_t shift_ns;
  const ClockMap& clock;

  [[nodiscard]] int64_t on_axis(int64_t time_ns) const {
    constexpr int64_t kBound = int64_t{1} << 61;  // a damaged trace can contain any time
    return clock.to_axis({std::clamp(time_ns, -kBound, kBound) + shift_ns}).ns;
  }
};

// "start_ns" → "start", "name_id" → "name", "enqueue_thread_id" → "enqueue thread".
std::string label_of(const Column& column) {
  std::string label(column.name);
  for (const std::string_view suffix : {"_ns", "_id"}) {
    if (label.ends_with(suffix)) label.erase(label.size() - suffix.size());
  }
  std::ranges::replace(label, '_', ' ');
  return label;
}

// The row of another table that an id refers to, in words.
std::string referred(const TraceReader& reader, std::string_view table, int64_t id) {
  if (table == "string") return reader.string(id);
  const std::string where = fmt::format("id = {}", id);
  if (table == "thread") {
    const Result<std::vector<schema::ThreadRow>> rows = reader.read_all<schema::ThreadRow>(where);
    if (rows.ok() && !rows->empty()) {
      const schema::ThreadRow& row = rows->front();
      const std::string name =
          row.name_id ? reader.string(*row.name_id) : std::string(word_of(row.role));
      return fmt::format("{} (tid {})", name, row.os_tid);
    }
  }
  if (table == "communicator") {
    const Result<std::vector<schema::CommunicatorRow>> rows =
        reader.read_all<schema::CommunicatorRow>(where);
    if (rows.ok() && !rows->empty() && rows->front().name_id)
      return reader.string(*rows->front().name_id);
  }
  return fmt::to_string(id);
}

std::string text_of(const EventSource& source, const Column& column, int64_t value) {
  if (!column.refers.empty()) return referred(source.reader, column.refers, value);
  switch (column.unit) {
    case schema::Unit::kTraceNs:
      return fmt::format("{:.6f} s", static_cast<double>(source.on_axis(value)) /
                                         static_cast<double>(kNsPerSecond));
    case schema::Unit::kDurationNs:
      return format_duration({value});
    case schema::Unit::kBytes:
      return value < 1000 ? format_bytes(value)
                          : fmt::format("{} ({})", format_bytes(value), format_count(value));
    case schema::Unit::kCount:
      return format_count(value);
    case schema::Unit::kNone:
    case schema::Unit::kRealtimeNs:
    case schema::Unit::kTicks:
      break;
  }
  return fmt::to_string(value);
}

std::string text_of(const EventSource&, const Column& column, const std::string& value) {
  if (column.type != schema::Type::kBlob) return value;
  std::string hex;
  for (const char c : value) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

template <typename Enum>
requires std::is_enum_v<Enum> std::string text_of(const EventSource&, const Column&, Enum value) {
  return std::string(word_of(value));
}

template <typename T>
std::optional<std::string> text_of(const EventSource& source, const Column& column,
                                   const std::optional<T>& value) {
  if (value) return text_of(source, column, *value);
  if (column.name == "duration_ns" || column.name == "end_ns")
    return "still open when the trace ended";
  return std::nullopt;
}

template <typename Row>
void add_fields(const EventSource& source, const Row& row, Fields& fields) {
  size_t index = 0;
  for_each_field(row, [&](const auto& field) {
    const Column& column = Row::kTable.columns[index++];
    const std::optional<std::string> text = text_of(source, column, field);
    if (text) fields.emplace_back(label_of(column), *text);
  });
}

// Rows of `Row` whose `key` is `value`. The key comes from a declaration, never from outside.
template <typename Row>
Status add_row_fields(const EventSource& source, std::string_view key, int64_t value,
                      Fields& fields) {
  return source.reader.for_each<Row>([&](const Row& row) { add_fields(source, row, fields); },
                                     fmt::format("{} = {}", key, value));
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> describe_row(const TraceFile& trace,
                                                                      std::string_view table,
                                                                      int64_t row,
                                                                      const ClockMap& clock) {
  const Result<TraceReader> reader = TraceReader::open(trace.path);
  if (!reader.ok()) return fail(reader.error());
  const EventSource source{*reader, trace.shift_ns, clock};
  Fields fields;
  bool known = false;
  Status status = Done{};
  schema::for_each_row_type([&]<typename Row>() {
    if (Row::kTable.name != table || Row::kTable.key != "id") return;
    known = true;
    status = add_row_fields<Row>(source, "id", row, fields);
  });
  if (!known) return fail(Code::kUsage, fmt::format("'{}' is not a table of events", table));
  if (!status.ok()) return fail(status.error());
  if (fields.empty()) {
    return fail(Code::kNotFound,
                fmt::format("{}: no row {} in {}", trace.path.string(), row, table));
  }
  if (table == "host_range") {
    const Status details = add_row_fields<schema::RangeDetailRow>(source, "range_id", row, fields);
    if (!details.ok()) return fail(details.error());
  }
  return fields;
}

}  // namespace dprof::analyzer
