// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/result_track.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <tuple>
#include <unordered_map>

#include "base/format.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/model/sql_console.h"

namespace dprof::view {
namespace {

using analyzer::SqlResult;
using analyzer::SqlValue;

// Sums and differences of any values that a statement computes stay in range.
constexpr int64_t kMostNs = int64_t{1} << 61;

std::optional<size_t> column_named(const SqlResult& result,
                                   std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    for (size_t c = 1; c < result.columns.size(); ++c) {
      if (result.columns[c].name == name) return c;
    }
  }
  return std::nullopt;
}

// nullopt = no number.
std::optional<int64_t> ns_of(const SqlValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value))
    return std::clamp(*integer, -kMostNs, kMostNs);
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr || !std::isfinite(*real)) return std::nullopt;
  const auto most = static_cast<double>(kMostNs);
  return static_cast<int64_t>(std::clamp(*real, -most, most));
}

int64_t shift_of(const Model& model, int rank) {
  const auto trace = std::ranges::find(model.run.traces, rank, &analyzer::TraceFile::rank);
  return trace == model.run.traces.end() ? 0 : trace->shift_ns;
}

TraceNs on_axis(const RankModel& rank, int64_t shift_ns, int64_t time_ns) {
  const int64_t shifted = time_ns + std::clamp(shift_ns, -kMostNs, kMostNs);
  return rank.clock.to_axis({std::clamp(shifted, -kMostNs, kMostNs)});
}

struct TimedLine {
  Interval span;
  size_t line = 0;
};

// Lines are ordered by begin, and for equal begins the longest first.
ResultLanes lanes_of(std::vector<TimedLine> lines, const SqlResult& result,
                     const TimeColumns& columns) {
  ResultLanes out;
  out.thread.table = kResultTable;
  std::ranges::sort(lines, {}, [](const TimedLine& l) {
    return std::tuple(l.span.begin.ns, -l.span.end.ns, l.line);
  });
  std::unordered_map<std::string, int32_t> names;
  std::vector<int64_t> busy_until;
  for (const TimedLine& one : lines) {
    const std::string name =
        columns.name ? cell_text(result.rows[one.line][*columns.name]) : std::string();
    const auto [at, is_new] = names.try_emplace(name, static_cast<int32_t>(out.names.size()));
    if (is_new) out.names.push_back(name);
    const auto free =
        std::ranges::find_if(busy_until, [&](int64_t until) { return until <= one.span.begin.ns; });
    const auto depth = static_cast<size_t>(free - busy_until.begin());
    if (free == busy_until.end()) {
      busy_until.emplace_back();
      out.thread.depths.emplace_back();
    }
    busy_until[depth] = one.span.end.ns;
    analyzer::Lane& lane = out.thread.depths[depth];
    lane.start_ns.push_back(one.span.begin.ns);
    lane.duration_ns.push_back(one.span.length().ns);
    lane.name.push_back(at->second);
    lane.row.push_back(static_cast<int64_t>(one.line));
    lane.phase.push_back(static_cast<uint8_t>(analyzer::Category::kOtherCompute));
  }
  for (const analyzer::Lane& lane : out.thread.depths) out.lods.emplace_back(lane.duration_ns);
  return out;
}

// What a track omits from its result.
std::string note_of(const SqlResult& result, size_t without_time) {
  std::string note;
  if (result.more)
    note = say("first {} rows", format_count(static_cast<int64_t>(result.rows.size())));
  if (without_time > 0) {
    note += note.empty() ? "" : ", ";
    note += say("{} without a time", format_count(static_cast<int64_t>(without_time)));
  }
  return note;
}

}  // namespace

std::string selector_of(const NamedRow& row) {
  return fmt::format("row:{}/{}/{}", row.rank, row.table, row.row);
}

std::optional<NamedRow> named_row(const SqlResult& result, size_t line, size_t column) {
  const std::vector<SqlValue>& row = result.rows[line];
  const auto* id = std::get_if<int64_t>(&row[column]);
  if (id == nullptr || result.columns[column].rows_of.empty()) return std::nullopt;
  return NamedRow{analyzer::rank_of(row), result.columns[column].rows_of, *id};
}

std::optional<NamedRow> named_row(const SqlResult& result, size_t line) {
  for (size_t c = 0; c < result.columns.size(); ++c) {
    if (auto row = named_row(result, line, c)) return row;
  }
  return std::nullopt;
}

std::optional<TimeColumns> time_columns(const SqlResult& result) {
  const auto start = column_named(result, {"start_ns", "time_ns", "ts"});
  if (!start) return std::nullopt;
  TimeColumns columns{.start = *start,
                      .duration = column_named(result, {"duration_ns", "dur"}),
                      .name = column_named(result, {"name", "label"})};
  if (!columns.duration) columns.end = column_named(result, {"end_ns"});
  return columns;
}

std::optional<Interval> span_of_line(const Model& model, const SqlResult& result,
                                     const TimeColumns& columns, size_t line) {
  const std::vector<SqlValue>& row = result.rows[line];
  const RankModel* rank = model.rank(analyzer::rank_of(row));
  const std::optional<int64_t> start = ns_of(row[columns.start]);
  if (rank == nullptr || !start) return std::nullopt;
  const int64_t shift_ns = shift_of(model, rank->rank);
  const TraceNs begin = on_axis(*rank, shift_ns, *start);
  TraceNs end = begin;
  if (const auto last = columns.duration ? columns.duration : columns.end) {
    const std::optional<int64_t> value = ns_of(row[*last]);
    end = model.span.end;
    if (value) end = on_axis(*rank, shift_ns, columns.duration ? *start + *value : *value);
  }
  return Interval{begin, std::max(end, begin + DurationNs{1})};
}

std::vector<SharedResultLanes> lanes_of_result(const Model& model,
                                               const std::shared_ptr<const SqlResult>& result,
                                               const std::string& title) {
  const TimeColumns columns = *time_columns(*result);
  std::vector<std::vector<TimedLine>> lines(model.ranks.size());
  size_t without_time = 0;
  for (size_t line = 0; line < result->rows.size(); ++line) {
    const auto span = span_of_line(model, *result, columns, line);
    if (span) {
      const int rank = analyzer::rank_of(result->rows[line]);
      lines[*model.index_of_rank(rank)].push_back({*span, line});
    } else {
      ++without_time;
    }
  }
  const std::string note = note_of(*result, without_time);
  std::vector<SharedResultLanes> all(model.ranks.size());
  for (size_t r = 0; r < lines.size(); ++r) {
    if (lines[r].empty()) continue;
    ResultLanes lanes = lanes_of(std::move(lines[r]), *result, columns);
    lanes.thread.name = title;
    lanes.result = result;
    lanes.note = note;
    all[r] = std::make_shared<const ResultLanes>(std::move(lanes));
  }
  return all;
}

std::optional<ResultLine> result_line_of(const Model& model, const SlicePlace& place) {
  const RankModel& rank = rank_of(model, place);
  const auto index = static_cast<size_t>(place.thread_index);
  const size_t threads = rank.lanes().threads.size();
  if (index < threads || index >= rank.row_count()) return std::nullopt;
  const ResultLanes& lanes = *rank.results[index - threads];
  const int64_t line = lane_of(model, place).row[place.slice];
  return ResultLine{&lanes, lanes.result.get(), static_cast<size_t>(line)};
}

std::string title_of_line(const ResultLine& line) {
  const auto columns = time_columns(*line.result);
  if (!columns || !columns->name) return line.lanes->thread.name;
  return cell_text(line.result->rows[line.line][*columns->name]);
}

Fields fields_of_line(const ResultLine& line) {
  Fields fields;
  for (size_t c = 0; c < line.result->columns.size(); ++c)
    fields.emplace_back(line.result->columns[c].name, cell_text(line.result->rows[line.line][c]));
  return fields;
}

std::string selector_of(const Model& model, const SlicePlace& place) {
  if (const auto line = result_line_of(model, place)) {
    const auto named = named_row(*line->result, line->line);
    if (named) return selector_of(*named);
    const Interval span = span_of(model, place);
    return fmt::format("range:{}ns..{}ns", span.begin.ns, span.end.ns);
  }
  return fmt::format("row:{}/{}/{}", rank_of(model, place).rank, thread_of(model, place).table,
                     lane_of(model, place).row[place.slice]);
}

}  // namespace dprof::view
