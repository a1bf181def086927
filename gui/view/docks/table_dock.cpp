// SPDX-License-Identifier: Apache-2.0
#include "gui/view/docks/table_dock.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "analyzer/report/report.h"
#include "base/format.h"
#include "gui/view/docks/range_title.h"
#include "gui/view/drawing/choice.h"
#include "gui/view/drawing/columns.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/model/result_track.h"
#include "gui/view/session/dock.h"

namespace dprof::view {
namespace {

constexpr int kTableTitleHeight = 34;
constexpr int kTableHeadHeight = 22;
constexpr int kTop = kTableTitleHeight + kTableHeadHeight;  // above the lines, always visible

// By position: the sort key for a click on a column's head.
constexpr std::array<std::optional<EventOrder>, 6> kOrderOf = {
    EventOrder::kByName, EventOrder::kByTime, EventOrder::kByDuration,
    EventOrder::kByRank, std::nullopt,        std::nullopt};

constexpr std::array<Column, 6> kTableColumns = {{
    {english("name"), 420, false},
    {english("begins"), 130, true},
    {english("duration"), 110, true},
    {english("rank"), 70, true},
    {english("thread"), 170, false},
    {english("part of"), 140, false},
}};

std::array<std::string, kTableColumns.size()> cells_of(const Model& model,
                                                       const SlicePlace& place) {
  const Interval span = span_of(model, place);
  const auto phase = static_cast<analyzer::Category>(lane_of(model, place).phase[place.slice]);
  const bool unfinished = is_unfinished(rank_of(model, place).lanes(), span.end);
  return {name_of(model, place),
          format_moment(span.begin, kNsPerUs),
          unfinished ? say("unfinished") : format_duration(span.length()),
          std::to_string(rank_of(model, place).rank),
          thread_of(model, place).name,
          std::string(analyzer::title_of(phase))};
}

// The number of events, and why not all of them are listed.
std::string count_text(const EventFigures& events, const EventList& list) {
  if (events.is_counting_list()) return say("counting …");
  const EventQuery query = events.query();
  const auto listed = static_cast<int64_t>(list.events.size());
  std::string text = say_count(list.count, "{} event", "{} events", format_count(list.count));
  if (!query.name.empty()) text += say(" named {}", query.name);
  if (query.durations)
    text += say(" of {} to {}", format_duration({query.durations->from_ns}),
                format_duration({query.durations->to_ns}));
  if (listed < list.count)
    text += say(", first {} shown; choose a shorter range to see all", format_count(listed));
  return text;
}

size_t ranks_of(const Model& model, const Selection& selection) {
  const size_t chosen = selection.ranks.size();
  return chosen == 0 ? model.ranks.size() : chosen;
}

}  // namespace

Panel draw_table_dock(const Model& model, EventFigures& events, Selecting& selecting, int width,
                      int height, int top, const TextMeasure& measure) {
  const EventList& shown_events = events.list();
  Panel panel;
  panel.width = std::max(width, 2 * kDockMargin + width_of(kTableColumns));
  panel.height = kTop + static_cast<int>(shown_events.events.size()) * kLineHeight + kDockMargin;
  DrawList& list = panel.list;
  list.rect({0, top, panel.width, height}, Role::kWindow);
  const LineRange shown = lines_in_view(shown_events.events.size(), top, height);
  for (size_t line = shown.first; line < shown.end; ++line) {
    const SlicePlace& place = shown_events.events[line];
    const Box box{0, kTop + static_cast<int>(line) * kLineHeight, panel.width, kLineHeight};
    if (selecting.selection().slice == place) list.rect(box, Role::kAccentSoft);
    draw_cells(kTableColumns, {kDockMargin, box.y}, cells_of(model, place), measure, list);
    panel.links.push_back({below(box, top + kTop),
                           [&selecting, place] { selecting.select_event(place); }, /*shows=*/true});
  }
  list.rect({0, top, panel.width, kTop}, Role::kWindow);
  int x = kDockMargin;
  for (size_t o = 0; o < kEventOrders.size(); ++o) {
    const auto order = static_cast<EventOrder>(o);
    const Box box = draw_choice({x, top + 4}, translated(kEventOrders[o]), events.order() == order,
                                measure, list);
    panel.links.push_back({box, [&events, order] { events.show_order(order); }});
    x += box.w + kChoiceGap;
  }
  list.text({x + 14, top, panel.width - x - 14, kTableTitleHeight},
            range_title(model, selecting, ranks_of(model, selecting.selection())) + " · " +
                count_text(events, shown_events),
            {.role = Role::kTextDim});
  draw_heads(kTableColumns, {kDockMargin, top + kTableTitleHeight}, kTableHeadHeight, list);
  x = kDockMargin;
  for (size_t c = 0; c < kTableColumns.size(); ++c) {
    if (const std::optional<EventOrder> order = kOrderOf[c]) {
      panel.links.push_back({{x, top + kTableTitleHeight, kTableColumns[c].width, kTableHeadHeight},
                             [&events, order] { events.show_order(*order); }});
    }
    x += kTableColumns[c].width;
  }
  list.line({kDockMargin, top + kTop - 1}, {panel.width - kDockMargin, top + kTop - 1},
            Role::kBorder);
  return panel;
}

namespace {

// A field as in RFC 4180.
std::string csv_field(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char letter : field)
    out += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return out + '"';
}

using EventFields = std::array<std::string, 6>;
constexpr std::array<std::string_view, 6> kFieldNames = {"name", "begins_ns", "duration_ns",
                                                         "rank", "thread",    "selector"};

EventFields fields_of(const Model& model, const SlicePlace& place) {
  const Interval span = span_of(model, place);
  const RankModel& rank = rank_of(model, place);
  const bool unfinished = is_unfinished(rank.lanes(), span.end);
  return {name_of(model, place),
          std::to_string(span.begin.ns),
          unfinished ? std::string() : std::to_string(span.length().ns),
          std::to_string(rank.rank),
          thread_of(model, place).name,
          selector_of(model, place)};
}

}  // namespace

std::string events_as_text(const Model& model, const EventList& list) {
  std::string text = fmt::format("{}\n", fmt::join(kFieldNames, "\t"));
  for (const SlicePlace& place : list.events)
    text += fmt::format("{}\n", fmt::join(fields_of(model, place), "\t"));
  return text;
}

std::string events_as_csv(const Model& model, const EventList& list) {
  std::string text = fmt::format("{}\r\n", fmt::join(kFieldNames, ","));
  for (const SlicePlace& place : list.events) {
    EventFields fields = fields_of(model, place);
    for (std::string& field : fields) field = csv_field(field);
    text += fmt::format("{}\r\n", fmt::join(fields, ","));
  }
  return text;
}

}  // namespace dprof::view
