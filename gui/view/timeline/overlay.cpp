// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/render/layout.h"
#include "base/format.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/model/result_track.h"
#include "gui/view/session/landmarks.h"
#include "gui/view/timeline/overlay_lines.h"
#include "gui/view/timeline/path_lines.h"
#include "gui/view/timeline/row_marks.h"
#include "gui/view/timeline/timeline_view.h"

namespace dprof::view {
namespace {

constexpr int kCalloutPadding = 10;
constexpr int kCalloutLine = 18;

struct Callout {
  std::string title;
  std::vector<std::string> lines;
};

// Paints the box near a point, inside the canvas, above the point if there is room.
void draw_callout(const Callout& callout, Point at, int width, int height,
                  const TextMeasure& measure, DrawList& list) {
  int text_width = measure.width(callout.title, Font::kBold);
  for (const std::string& line : callout.lines) {
    text_width = std::max(text_width, measure.width(line, Font::kSmall));
  }
  const int w = std::min(text_width + 2 * kCalloutPadding + 2, std::max(width - 8, 60));
  const int h =
      kCalloutLine * static_cast<int>(1 + callout.lines.size()) + 2 * (kCalloutPadding - 3);
  const int x = std::clamp(at.x + 14, 4, std::max(width - w - 4, 4));
  int y = at.y - h - 10;
  if (y < 4) y = at.y + 16;
  y = std::clamp(y, 0, std::max(height - h - 2, 0));
  list.rect({x, y + 1, w, h + 1}, Role::kShadow, {}, 0, 6);
  list.rect({x, y, w, h}, Role::kCard, {}, 0, 6);
  list.frame({x, y, w, h}, Role::kBorder, 6);
  const int room = w - 2 * kCalloutPadding;
  int line_y = y + kCalloutPadding - 3;
  list.text({x + kCalloutPadding, line_y, room, kCalloutLine},
            elided(callout.title, room, Font::kBold, measure), {.font = Font::kBold});
  for (const std::string& line : callout.lines) {
    line_y += kCalloutLine;
    list.text({x + kCalloutPadding, line_y, room, kCalloutLine},
              elided(line, room, Font::kSmall, measure),
              {.role = Role::kTextDim, .font = Font::kSmall});
  }
}

const analyzer::MatchedCollective* hung_one(const Model& model) {
  const std::optional<uint32_t> hung = hung_collective(model);
  return hung ? &model.collectives[*hung] : nullptr;
}

Callout callout_of(const Model& model, const analyzer::MatchedCollective& collective) {
  Callout callout;
  callout.title = fmt::format("{} #{}", schema::word_of(collective.function), collective.sequence);
  if (collective.bytes) callout.title += fmt::format(" · {}", format_bytes(*collective.bytes));
  if (collective.last_arriver) {
    callout.title += say(" · last: rank {}", *collective.last_arriver);
  }
  if (!collective.complete) {
    const std::optional<analyzer::Hang>& hang = model.report.hang;
    const bool hung = hang && !hang->culprits.empty() && &collective == hung_one(model);
    callout.lines.push_back(hung ? say_count(hang->culprits.size(), "waits for rank {}",
                                             "waits for ranks {}",
                                             analyzer::rank_list(hang->culprits))
                                 : say("not completed by all its ranks"));
    return callout;
  }
  int64_t wait_ns = 0;
  for (const analyzer::CollectiveMember& member : collective.members) {
    wait_ns = std::max(wait_ns, member.wait_ns);
  }
  callout.lines.push_back(say("others waited up to {}, transfer {}", format_duration({wait_ns}),
                              format_duration({collective.transfer_ns})));
  const std::optional<DurationNs> bound = model.clock_bound();
  if (!collective.last_arriver && bound != DurationNs{0}) {
    callout.lines.push_back(
        bound ? say("last to arrive unknown: clocks agree to ± {}", format_duration(*bound))
              : say("last to arrive unknown: clock bound unknown"));
  }
  return callout;
}

// The cost of the last arrival for the others, beside the line through their arrivals.
void draw_collective(const analyzer::MatchedCollective& collective, const RowsArea& area, int width,
                     int height, const TextMeasure& measure, DrawList& list) {
  const std::optional<Point> at = draw_arrivals(collective, area, width, height, list);
  if (!at || area.tracks.hover()) return;
  draw_callout(callout_of(area.model, collective), *at, width, height, measure, list);
}

// A length between two lines.
void draw_measured(Interval range, const TimeScale& scale, int height, const TextMeasure& measure,
                   DrawList& list) {
  const int x0 = scale.pixel_of(range.begin);
  const int x1 = scale.pixel_of(range.end);
  list.rect({x0, 0, std::max(x1 - x0, 1), height}, Role::kAccentSoft, {}, 140);
  list.line({x0, 0}, {x0, height}, Role::kAccent);
  list.line({x1, 0}, {x1, height}, Role::kAccent);
  const std::string text = format_duration(range.length());
  const int w = measure.width(text, Font::kBold) + 2 * kCalloutPadding;
  const Box box{(x0 + x1 - w) / 2, 6, w, 24};
  list.rect(box, Role::kAccent, {}, 0, 6);
  list.text(box, text,
            {.role = Role::kAccent, .font = Font::kBold, .align = Align::kCentre, .on_fill = true});
}

// Frames a slice in every visible place.
void draw_frame(const RowsArea& area, const SlicePlace& place, int outset, Role role,
                uint8_t thickness, int width, int height, DrawList& list) {
  for (const ShownSlice& shown : shown_slices(area, place)) {
    if (!area.tracks.is_in_view(*shown.row)) continue;
    const Box& box = shown.box;
    const int fixed = shown.row->fixed ? 0 : area.tracks.layout().fixed_height;
    if (fixed > 0) list.clip({0, fixed, width, height - fixed});
    list.frame({box.x - outset, box.y - outset, box.w + 2 * outset, box.h + 2 * outset}, role, 0,
               thickness);
    if (fixed > 0) list.unclip();
  }
}

// There can be thousands: four thin rectangles are painted much faster than a frame.
void draw_mark(Box box, DrawList& list) {
  constexpr int kLeastFrame = 4;
  if (box.w < kLeastFrame) return list.rect(box, Role::kText);
  list.rect({box.x, box.y, box.w, 1}, Role::kText);
  list.rect({box.x, box.y + box.h - 1, box.w, 1}, Role::kText);
  list.rect({box.x, box.y, 1, box.h}, Role::kText);
  list.rect({box.x + box.w - 1, box.y, 1, box.h}, Role::kText);
}

// Frames the events of the chosen name.
void draw_named(const NamedMarks& marks, const RowsArea& area, int width, int height,
                DrawList& list) {
  constexpr int kOutside = 2;  // of the picture, so that an edge there is not drawn
  const TimeScale scale = area.scale;
  for (const LaneMarks& lane : marks) {
    for (const Row& row : area.tracks.layout().rows) {
      if (row.kind != RowKind::kThread || row.rank_index != lane.lane.rank_index ||
          row.thread_index != lane.lane.thread_index || !area.tracks.is_in_view(row)) {
        continue;
      }
      const int y = area.tracks.y_of(row) + depth_top(lane.lane.depth);
      const int fixed = row.fixed ? 0 : area.tracks.layout().fixed_height;
      list.clip({0, fixed, width, height - fixed});
      for (const Interval& mark : lane.marks) {
        if (mark.end < area.scale.range().begin || mark.begin > area.scale.range().end) continue;
        const int x = std::max(scale.pixel_of(mark.begin), -kOutside);
        const int end = std::min(scale.pixel_of(mark.end), width + kOutside);
        draw_mark({x, y, std::max(end - x, 1), kDepthHeight}, list);
      }
      list.unclip();
    }
  }
}

// A line of a result: its first columns.
Callout callout_of(const ResultLine& line) {
  constexpr size_t kMost = 8;
  Callout callout{.title = title_of_line(line)};
  const Fields fields = fields_of_line(line);
  for (size_t i = 0; i < std::min(fields.size(), kMost); ++i)
    callout.lines.push_back(fmt::format("{}: {}", fields[i].first, fields[i].second));
  if (fields.size() > kMost)
    callout.lines.push_back(say("and {} more columns", fields.size() - kMost));
  return callout;
}

Callout callout_of(const RunPath* path, const RowsArea& area, const Hover& hover) {
  const Model& model = area.model;
  const RankModel& rank = model.ranks[static_cast<size_t>(hover.rank_index)];
  const auto resolution = std::max<int64_t>(area.scale.range().length().ns / 10'000, 1);
  Callout callout;
  if (const auto line = hover.slice ? result_line_of(model, *hover.slice) : std::nullopt) {
    callout = callout_of(*line);
  } else if (hover.slice) {
    const analyzer::ThreadLanes& thread = thread_of(model, *hover.slice);
    const analyzer::Lane& lane = lane_of(model, *hover.slice);
    const uint32_t slice = hover.slice->slice;
    callout.title = name_of(model, *hover.slice);
    const bool unfinished = is_unfinished(rank.lanes(), span_of(model, *hover.slice).end);
    callout.lines.push_back(
        say("{} · {} · rank {}, {}",
            unfinished ? say("unfinished") : format_duration({lane.duration_ns[slice]}),
            analyzer::title_of(static_cast<analyzer::Category>(lane.phase[slice])), rank.rank,
            thread.name));
    callout.lines.push_back(say("at {}", format_moment(TraceNs{lane.start_ns[slice]}, resolution)));
  } else if (hover.piece) {
    const uint32_t piece = *hover.piece;
    const auto category = static_cast<analyzer::Category>(rank.summary.category[piece]);
    callout.title = std::string(analyzer::title_of(category));
    if (rank.summary.overlapped[piece] != 0) callout.title += say(", overlaps communication");
    callout.lines.push_back(
        say("{} · rank {}", format_duration({rank.summary.duration_ns[piece]}), rank.rank));
  }
  if (hover.folded > 1) {
    callout.lines.push_back(
        say("the longest of {} here: zoom in to see each", format_count(hover.folded)));
  }
  const TraceNs time = area.scale.time_of(hover.at.x);
  if (const std::string words = path_words_at(path, hover.rank_index, time); !words.empty())
    callout.lines.push_back(words);
  for (const std::string& words : losses_at(area, hover))
    callout.lines.push_back(say("around here {}", words));
  return callout;
}

// The memory held under the mouse, over the time of that pixel column.
Callout callout_of_memory(const RowsArea& area, const Hover& hover) {
  const RankModel& rank = area.model.ranks[static_cast<size_t>(hover.rank_index)];
  const analyzer::MemoryCurve& curve = rank.memory[static_cast<size_t>(hover.memory)].curve;
  const TimeScale scale = area.scale;
  const Interval span{scale.time_of(hover.at.x), scale.time_of(hover.at.x + 1)};
  const std::optional<HeldMemory> held = held_in(curve.levels, span);
  const auto resolution = std::max<int64_t>(area.scale.range().length().ns / 10'000, 1);
  return {.title = held ? held_text(curve, *held) : say("not known here"),
          .lines = {say("rank {}, {}", rank.rank, title_of(curve)),
                    say("at {}", format_moment(span.begin, resolution))}};
}

}  // namespace

DrawList draw_overlay(const RowsArea& area, const Overlaid& what, int width, int height,
                      const TextMeasure& measure) {
  DrawList list;
  draw_named(what.marks, area, width, height, list);
  if (const auto& chosen = what.selection.collective)
    draw_collective(area.model.collectives[*chosen], area, width, height, measure, list);
  if (const auto& chosen = what.selection.slice)
    draw_frame(area, *chosen, 1, Role::kText, 2, width, height, list);
  draw_flow(what.flow, area, list);
  draw_messages(what.flow, area, height, list);
  if (what.measured) draw_measured(*what.measured, area.scale, height, measure, list);
  const std::optional<Hover>& hover = area.tracks.hover();
  if (hover && hover->memory >= 0) {
    draw_callout(callout_of_memory(area, *hover), hover->at, width, height, measure, list);
  }
  if (hover && hover->jump >= 0) {
    PathWords words = words_of_jump(area, static_cast<size_t>(hover->jump));
    draw_callout({std::move(words.title), std::move(words.lines)}, hover->at, width, height,
                 measure, list);
    return list;
  }
  if (hover && (hover->slice || hover->piece)) {
    if (hover->slice) draw_frame(area, *hover->slice, 0, Role::kTextDim, 1, width, height, list);
    draw_callout(callout_of(what.path, area, *hover), hover->at, width, height, measure, list);
  }
  return list;
}

}  // namespace dprof::view
