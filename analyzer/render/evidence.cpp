// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "schema/tables.h"

namespace dprof::analyzer {
namespace {

const schema::Table* table_named(std::string_view name) {
  const auto* known = std::ranges::find(schema::kTables, name, &schema::Table::name);
  return known == std::end(schema::kTables) ? nullptr : known;
}

bool has_column(const schema::Table& table, std::string_view name) {
  return std::ranges::count(table.columns, name, &schema::Column::name) > 0;
}

// The view that shows words in place of numbers, where there is one.
std::string readable(const schema::Table& table) {
  const bool view = std::ranges::any_of(table.columns, [](const schema::Column& c) {
    return c.type == schema::Type::kEnum || c.refers == "string";
  });
  return std::string(table.name) + (view ? "_text" : "");
}

// As one word of a shell.
std::string quoted(const std::string& path) {
  const bool plain = std::ranges::all_of(path, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("/._-+,@%:=").find(static_cast<char>(c)) != std::string_view::npos ||
           c >= 0x80;
  });
  if (plain && !path.empty()) return path;
  std::string word = "'";
  for (const char c : path) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// Which rows: by number, or where there is none by time on the trace's own clock.
std::string condition_of(const Evidence& evidence, const schema::Table& table,
                         const TraceFile& trace, const RankAnalysis* rank) {
  if (!evidence.rows.empty() && evidence.table == table.name && has_column(table, "id"))
    return fmt::format("id IN ({})", fmt::join(evidence.rows, ", "));
  const std::string_view column = has_column(table, "start_ns")  ? "start_ns"
                                  : has_column(table, "time_ns") ? "time_ns"
                                                                 : "";
  if (column.empty() || evidence.end_ns <= evidence.start_ns) return {};
  const auto local = [&](int64_t axis) {
    const TraceNs time{axis};
    return (rank == nullptr ? time : rank->clock.from_axis(time)).ns - trace.shift_ns;
  };
  // The way back through the clocks is good to a ns or two.
  constexpr int64_t kSlack = 2;
  return fmt::format("{} BETWEEN {} AND {}{} LIMIT 20", column, local(evidence.start_ns) - kSlack,
                     local(evidence.end_ns) + kSlack,
                     has_column(table, "duration_ns") ? " ORDER BY duration_ns DESC" : "");
}

std::string steps_of(const Evidence& evidence, const RankAnalysis& rank) {
  std::optional<int64_t> first;
  std::optional<int64_t> last;
  for (const StepWindow& step : rank.steps) {
    if (step.window.end.ns <= evidence.start_ns || step.window.begin.ns >= evidence.end_ns)
      continue;
    if (!first) first = step.index;
    last = step.index;
  }
  if (!first) return {};
  return *first == *last ? fmt::format("step {}", *first)
                         : fmt::format("steps {} to {}", *first, *last);
}

}  // namespace

EvidencePlace place_of(const Evidence& evidence, const EvidenceSources& sources) {
  EvidencePlace place;
  const auto rank = std::ranges::find(sources.ranks, evidence.rank, &RankAnalysis::rank);
  const RankAnalysis* analysed = rank == sources.ranks.end() ? nullptr : &*rank;
  if (analysed != nullptr) place.when = steps_of(evidence, *analysed);
  const auto trace = std::ranges::find(sources.traces, evidence.rank, &TraceFile::rank);
  if (trace == sources.traces.end()) return place;
  place.trace = trace->path.filename().string();
  // Steps that nobody marked have no rows: what ran longest in them is shown instead.
  const schema::Table* table =
      table_named(evidence.table == "step" ? "host_range" : evidence.table);
  if (table == nullptr) return place;
  const std::string condition = condition_of(evidence, *table, *trace, analysed);
  if (condition.empty()) return place;
  place.command = fmt::format("sqlite3 -header {} \"SELECT * FROM {} WHERE {}\"",
                              quoted(trace->path.string()), readable(*table), condition);
  return place;
}

}  // namespace dprof::analyzer
