// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lanes/related.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "schema/generated/rows.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {
namespace {

using schema::CollectiveRow;
using schema::GpuActivityRow;
using schema::HostRangeRow;
using schema::TraceReader;

// The keys that relate rows.
struct Ties {
  std::optional<int64_t> correlation;
  std::optional<int64_t> sequence;
};

template <typename Row>
Status read_ties(const TraceReader& reader, std::string_view table, int64_t row, Ties& ties) {
  if (Row::kTable.name != table) return Done{};
  return reader.for_each<Row>(
      [&](const Row& found) {
        ties.correlation = found.correlation;
        // A collective's sequence is its communicator's, and relates rows of other ranks.
        if constexpr (std::is_same_v<Row, HostRangeRow>) ties.sequence = found.sequence;
      },
      fmt::format("id = {}", row));
}

template <typename Row>
Status add_related(const TraceReader& reader, std::string_view key, std::optional<int64_t> value,
                   size_t most, std::vector<RelatedRow>& rows) {
  if (!value) return Done{};
  size_t found_here = 0;
  return reader.for_each<Row>(
      [&](const Row& found) {
        if (found_here++ < most) rows.push_back({std::string(Row::kTable.name), found.id});
      },
      fmt::format("{} = {}", key, *value));
}

}  // namespace

Result<std::vector<RelatedRow>> related_rows(const TraceFile& trace, std::string_view table,
                                             int64_t row, size_t most) {
  const Result<TraceReader> reader = TraceReader::open(trace.path);
  if (!reader.ok()) return fail(reader.error());
  Ties ties;
  for (const auto& read :
       {&read_ties<HostRangeRow>, &read_ties<GpuActivityRow>, &read_ties<CollectiveRow>}) {
    if (const Status status = read(*reader, table, row, ties); !status.ok())
      return fail(status.error());
  }
  std::vector<RelatedRow> rows;
  for (const auto& add :
       {&add_related<HostRangeRow>, &add_related<GpuActivityRow>, &add_related<CollectiveRow>}) {
    const Status status = add(*reader, "correlation", ties.correlation, most + 1, rows);  // itself
    if (!status.ok()) return fail(status.error());
  }
  const Status status =
      add_related<HostRangeRow>(*reader, "sequence", ties.sequence, most + 1, rows);
  if (!status.ok()) return fail(status.error());
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::erase(rows, RelatedRow{std::string(table), row});
  if (rows.size() > most) rows.resize(most);
  return rows;
}

}  // namespace dprof::analyzer
