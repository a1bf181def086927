// SPDX-License-Identifier: Apache-2.0
#include "gui/view/state_dump.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gui/view/figures/notable_ranks.h"
#include "gui/view/model/result_track.h"

namespace dprof::view {
namespace {

using Json = nlohmann::ordered_json;

Json row_json(const Session& session, const Row& row) {
  const Model& model = session.model();
  const TimeScale scale = session.viewport.scale();
  int64_t items = 0;
  int64_t folded = 0;
  std::vector<SliceBox> boxes;
  const auto count = [&](const Slices& slices, const LodIndex& lod) {
    items += static_cast<int64_t>(count_in(slices, scale.range()));
    boxes_of(slices, lod, scale, boxes);
    for (const SliceBox& box : boxes) folded += box.count > 1 ? 1 : 0;
  };
  if (row.kind == RowKind::kRank) {
    const SummaryLane& summary = model.ranks[static_cast<size_t>(row.rank_index)].summary;
    count(summary.slices(), summary.lod);
  } else if (row.kind == RowKind::kThread) {
    const RankModel& rank = model.ranks[static_cast<size_t>(row.rank_index)];
    const RowLanes lanes = rank.row_lanes(static_cast<size_t>(row.thread_index));
    for (size_t depth = 0; depth < lanes.lods.size(); ++depth)
      count(slices_of(lanes.thread.depths[depth]), lanes.lods[depth]);
  }
  return {{"track", row.track},
          {"y", session.tracks.y_of(row)},
          {"height", row.height},
          {"fixed", row.fixed},
          {"in_view", session.tracks.is_in_view(row)},
          {"items", items},
          {"folded", folded},
          {"note", row.note},
          {"closed", row.folded}};
}

Json value_json(const analyzer::SqlValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (std::holds_alternative<std::monostate>(value)) return nullptr;
  return cell_text(value);
}

// The result's number of rows, and the first rows.
Json sql_json(const Session& session) {
  constexpr size_t kMostRows = 20;
  const SqlConsole& sql = session.sql;
  Json out = {{"query", sql.text()},         {"rows", 0},
              {"columns", Json::array()},    {"ranks", Json::array()},
              {"left_out", Json::array()},   {"more", false},
              {"first_rows", Json::array()}, {"error", nullptr},
              {"stale", sql.is_stale()}};
  if (sql.error()) out["error"] = sql.error()->error.what;
  if (sql.error() && sql.error()->offset) out["error_offset"] = *sql.error()->offset;
  if (sql.result() == nullptr) return out;
  const analyzer::SqlResult& result = *sql.result();
  out["rows"] = result.rows.size();
  out["ranks"] = result.ranks;
  out["more"] = result.more;
  for (const analyzer::SqlLeftOut& one : result.left_out) out["left_out"].push_back(one.rank);
  for (const analyzer::SqlColumn& column : result.columns) out["columns"].push_back(column.name);
  for (size_t line = 0; line < std::min(result.rows.size(), kMostRows); ++line) {
    Json row = Json::array();
    for (const analyzer::SqlValue& value : result.rows[line]) row.push_back(value_json(value));
    out["first_rows"].push_back(std::move(row));
  }
  return out;
}

// With many ranks, those shown by name.
Json notable_json(const Model& model) {
  Json out = Json::array();
  if (!has_many_ranks(model)) return out;
  if (const std::optional<RotatingDelay> delay = rotating_delay(model))
    out.push_back(
        {{"rank", nullptr}, {"host", nullptr}, {"reason", "rotating"}, {"ns", delay->cost_ns}});
  for (const NotableRank& one : notable_ranks(model)) {
    out.push_back({{"rank", one.rank},
                   {"host", model.ranks[one.index].host},
                   {"reason", word_of(one.reason)},
                   {"ns", nullptr}});
    if (one.ns) out.back()["ns"] = *one.ns;
  }
  return out;
}

// The axes of the ranks' grid.
Json grid_json(const Model& model) {
  Json out = Json::array();
  for (const GridAxis& axis : model.groups.axes)
    out.push_back({{"of", title_of(axis.role)}, {"size", axis.size}});
  return out;
}

template <typename Value>
Json known_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json what_if_json(const Session& session) {
  Json out = {{"changes", session.what_if.changes()}, {"answer", nullptr}, {"error", nullptr}};
  const WhatIfAnswer* answer = session.what_if.answer();
  if (answer == nullptr) return out;
  out["command"] = session.what_if.command_line();
  if (answer->error) out["error"] = answer->error->what;
  if (!answer->answer) return out;
  const analyzer::WhatIf& what = *answer->answer;
  out["answer"] = {{"change", what.change},
                   {"step_ns", known_or_null(what.step_ns)},
                   {"gain_ns", known_or_null(what.gain_ns)},
                   {"bound_ns", known_or_null(what.bound_ns)},
                   {"refused", what.refused}};
  return out;
}

Json path_json(const Session& session) {
  Json out = {{"shown", session.path.is_shown()}, {"step", nullptr}};
  const std::optional<size_t> index = session.path.step();
  if (!index) return out;
  const RunPath& path = *session.model().path;
  const PathStep& step = path.steps[*index];
  out["step"] = step.step;
  out["length_ns"] = step.length_ns;
  out["median_ns"] = path.median_ns;
  out["hand_overs"] = step.jumps;
  return out;
}

}  // namespace

std::string dump_state(const Session& session, int pending,
                       const std::vector<std::string>& messages) {
  Json out;
  out["schema"] = "dprof.gui_state/1";
  out["page"] = info_of(session.viewport.page()).word;
  out["dock"] = info_of(session.dock).word;
  out["range_ns"] = {session.viewport.range().begin.ns, session.viewport.range().end.ns};
  out["pending"] = pending;
  out["rows"] = Json::array();
  for (const Row& row : session.tracks.layout().rows) out["rows"].push_back(row_json(session, row));
  const Selection& selection = session.selecting.selection();
  const Interval selected = session.selecting.range();
  out["selection"] = {{"selectors", selectors_of(session.model(), selection)},
                      {"ranks", selection.ranks},
                      {"range_ns", {selected.begin.ns, selected.end.ns}},
                      {"events", events_in(session.model(), selection.ranks, selected)}};
  out["selection"]["flow"] = Json::array();
  for (const SlicePlace& place : session.flow.places())
    out["selection"]["flow"].push_back(selector_of(session.model(), place));
  out["selection"]["flow_cut"] = session.flow.is_cut();
  out["hover"] = nullptr;
  if (session.tracks.hover())
    out["hover"] = {{"x", session.tracks.hover()->at.x}, {"y", session.tracks.hover()->at.y}};
  out["messages"] = messages;
  Json bound = nullptr;
  if (const auto known = session.model().clock_bound()) bound = known->ns;
  out["badges"] = {{"lost", session.model().lost()}, {"clock_bound_ns", bound}};
  out["pinned"] = session.tracks.arrangement().pinned;
  out["notes"] = Json::array();
  for (const Note& note : session.notes.all()) {
    out["notes"].push_back({{"at_ns", {note.at.begin.ns, note.at.end.ns}}, {"text", note.text}});
  }
  out["findings"] = Json::array();
  for (const analyzer::Finding& finding : session.model().findings()) {
    out["findings"].push_back({{"title", finding.title}, {"ranks", finding.ranks}});
  }
  out["worth_a_look"] = notable_json(session.model());
  out["grid"] = grid_json(session.model());
  out["sql"] = sql_json(session);
  out["what_if"] = what_if_json(session);
  out["path"] = path_json(session);
  out["hang"] = nullptr;
  if (const auto& hang = session.model().report.hang)
    out["hang"] = {
        {"state", hang->state}, {"culprits", hang->culprits}, {"waiting", hang->waiting}};
  out["memory_bytes"] = session.model().memory_bytes();
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dprof::view
