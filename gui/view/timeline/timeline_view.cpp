// SPDX-License-Identifier: Apache-2.0
#include "gui/view/timeline/timeline_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "gui/view/drawing/grid.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/timeline/path_lines.h"
#include "gui/view/timeline/row_marks.h"

namespace dprof::view {
namespace {

using analyzer::Category;

constexpr int kLabelFrom = 30;  // narrower slices get no label
constexpr int kLabelPadding = 4;
constexpr int kMostLabels = 1000;
constexpr int kStepLinesFrom = 24;  // pixels between steps
constexpr int kOverlapStripe = 4;
constexpr uint8_t kFoldedTint = 70;
constexpr uint8_t kDeepTint = 64;
constexpr uint8_t kDraggedTint = 200;

// Paints the visible rows with `paint(row, y)`: the fixed ones, and the scrolled ones below them,
// with a line between.
template <typename Paint>
void for_rows_in_view(const Tracks& tracks, int width, int height, DrawList& list,
                      const Paint& paint) {
  const Layout& layout = tracks.layout();
  const int fixed = layout.fixed_height;
  const auto paint_all = [&](bool of_fixed) {
    for (const Row& row : layout.rows) {
      const int y = tracks.y_of(row);
      const bool seen = y + row.height > (of_fixed ? 0 : fixed) && y < height;
      if (row.fixed == of_fixed && seen) paint(row, y);
    }
  };
  paint_all(/*of_fixed=*/true);
  if (fixed > 0) list.clip({0, fixed, width, height - fixed});
  paint_all(/*of_fixed=*/false);
  if (fixed == 0) return;
  list.unclip();
  list.rect({0, fixed - 1, width, 2}, Role::kTextFaint);
}

// Leaves a gap before the next slice if there is room.
int painted_width(int width) { return width >= 4 ? width - 1 : std::max(width, 1); }

// Paints the visible rows into one list.
class RowPainter {
 public:
  RowPainter(const RowsArea& area, const Selection& selection, const RunPath* path, int width,
             int height, const TextMeasure& measure)
      : area_(area),
        selection_(selection),
        path_(path),
        model_(area.model),
        scale_(area.scale),
        width_(width),
        height_(height),
        measure_(measure) {}

  DrawList paint() && {
    list_.rect({0, 0, width_, height_}, Role::kCanvas);
    if (selection_.range) paint_range(*selection_.range);
    for_rows_in_view(area_.tracks, width_, height_, list_,
                     [this](const Row& row, int y) { paint_row(row, y); });
    draw_path(path_, area_, width_, height_, list_);
    return std::move(list_);
  }

 private:
  void paint_range(Interval range) {
    const int x0 = scale_.pixel_of(range.begin);
    const int x1 = scale_.pixel_of(range.end);
    list_.rect({x0, 0, std::max(x1 - x0, 1), height_}, Role::kAccentSoft);
  }

  void paint_row(const Row& row, int y) {
    if (row.kind == RowKind::kHost || row.kind == RowKind::kGroup) return;
    const RankModel& rank = model_.ranks[static_cast<size_t>(row.rank_index)];
    if (row.kind == RowKind::kRank) {
      if (selection_.has_rank(rank.rank)) {
        list_.rect({0, y, width_, row.height}, Role::kAccentSoft);
      }
      draw_losses(area_, row, y, list_);
      paint_summary(rank, y + kBarTop);
    } else if (row.kind == RowKind::kMemory) {
      paint_memory(rank.memory[static_cast<size_t>(row.memory_index)], y);
    } else {
      list_.rect({0, y + 1, width_, row.height - 2}, Role::kLaneBackground);
      draw_losses(area_, row, y, list_);
      const auto thread = static_cast<size_t>(row.thread_index);
      for (int depth = 0; depth < row.depths; ++depth) {
        const int top = y + depth_top(depth);
        if (top + kDepthHeight <= 0 || top >= height_) continue;
        paint_lane(rank, thread, static_cast<size_t>(depth), top);
      }
    }
    if (row.kind != RowKind::kMemory) draw_veils(veils(row.rank_index), y, row.height, list_);
    paint_step_lines(rank, y, row.height);
    draw_row_marks(area_, row, y, width_, measure_, list_);
  }

  const std::vector<Veil>& veils(int rank_index) {
    if (veils_of_ != rank_index) veils_ = veils_of(path_, scale_, rank_index, width_);
    veils_of_ = rank_index;
    return veils_;
  }

  void paint_summary(const RankModel& rank, int y) {
    const Slices slices = rank.summary.slices();
    boxes_of(slices, rank.summary.lod, scale_, boxes_);
    for (const SliceBox& box : boxes_) {
      const auto category = static_cast<Category>(slices.category[box.slice]);
      Tag tag;
      if (box.count > 1) tag.folded = box.count;
      const Box place{box.x0, y, painted_width(box.x1 - box.x0), kBarHeight};
      if (is_hatched(category) && place.w > 2) {
        list_.hatch(place, role_of(category), tag);
      } else {
        list_.rect(place, role_of(category), tag, box.count > 1 ? kFoldedTint : uint8_t{0});
      }
      if (rank.summary.overlapped[box.slice] != 0 && place.w > 2) {
        list_.rect({place.x, y + kBarHeight - kOverlapStripe, place.w, kOverlapStripe},
                   role_of(Category::kExposedTransfer));
      }
    }
  }

  void paint_memory(const MemoryTrack& memory, int y) {
    const Box lane{0, y + 1, width_, kMemoryHeight - 2};
    list_.rect(lane, Role::kLaneBackground);
    draw_held(memory.curve.levels, scale_, lane, memory_scale(model_, memory.curve), list_);
  }

  void paint_lane(const RankModel& rank, size_t thread_index, size_t depth, int y) {
    const RowLanes row = rank.row_lanes(thread_index);
    const analyzer::ThreadLanes& thread = row.thread;
    const analyzer::Lane& lane = thread.depths[depth];
    boxes_of(slices_of(lane), row.lods[depth], scale_, boxes_);
    const bool collectives = thread.table == "collective";
    for (const SliceBox& box : boxes_) {
      Tag tag{.table = thread.table, .rank = rank.rank};
      if (box.count > 1) {
        tag.folded = box.count;
      } else {
        tag.row = lane.row[box.slice];
      }
      const Box place{box.x0, y, painted_width(box.x1 - box.x0), kDepthHeight};
      const TraceNs end{lane.start_ns[box.slice] + lane.duration_ns[box.slice]};
      const bool unfinished = box.count == 1 && is_unfinished(rank.lanes(), end);
      if (collectives) {
        paint_collective(rank, lane, box, place, tag);
        if (unfinished) fade_out(place);
        continue;
      }
      const auto role = role_of(static_cast<Category>(lane.phase[box.slice]));
      // Nested slices are paler, folded ones too: a solid slice is a single thing.
      const uint8_t tint = box.count > 1 ? kFoldedTint : depth >= 2 ? kDeepTint : uint8_t{0};
      list_.rect(place, role, tag, tint);
      if (box.count == 1) {
        paint_label(place, row.names[static_cast<size_t>(lane.name[box.slice])], role);
      }
      if (unfinished) fade_out(place);
    }
  }

  // An event with no recorded end fades out at the end of the trace.
  void fade_out(const Box& place) {
    constexpr int kParts = 8;
    constexpr int kPart = 5;
    const int from = std::max(place.x, place.x + place.w - kParts * kPart);
    for (int x = place.x + place.w; x > from; x -= kPart) {
      const int left = std::max(x - kPart, from);
      const int shines = 255 * (place.x + place.w - x) / (kParts * kPart);
      list_.rect({left, place.y, x - left, place.h}, Role::kLaneBackground, {},
                 static_cast<uint8_t>(shines));
    }
  }

  // Hatched while the member waits for the others, solid while data is transferred.
  void paint_collective(const RankModel& rank, const analyzer::Lane& lane, const SliceBox& box,
                        const Box& place, const Tag& tag) {
    const Role transfer = role_of(Category::kExposedTransfer);
    const auto member = rank.collective_of_row.find(lane.row[box.slice]);
    if (box.count > 1 || member == rank.collective_of_row.end()) {
      list_.rect(place, transfer, tag, box.count > 1 ? kFoldedTint : uint8_t{0});
      return;
    }
    const analyzer::MatchedCollective& collective = model_.collectives[member->second.collective];
    const int64_t wait_ns = collective.members[member->second.member].wait_ns;
    const TraceNs begin{lane.start_ns[box.slice]};
    const int until =
        std::clamp(scale_.pixel_of(begin + DurationNs{wait_ns}), place.x, place.x + place.w);
    if (until > place.x) {
      list_.hatch({place.x, place.y, until - place.x, place.h}, role_of(Category::kExposedWait),
                  tag);
    }
    if (until < place.x + place.w) {
      const Box moving{until, place.y, place.x + place.w - until, place.h};
      list_.rect(moving, transfer, tag);
      paint_label(moving, rank.lanes().names[static_cast<size_t>(lane.name[box.slice])], transfer);
    }
  }

  void paint_label(const Box& place, const std::string& name, Role role) {
    // A slice that begins left of the screen has its label where it becomes visible.
    const int x0 = std::max(place.x, 0);
    const int x1 = std::min(place.x + place.w, width_);
    if (x1 - x0 < kLabelFrom || labels_ >= kMostLabels) return;
    const int room = x1 - x0 - 2 * kLabelPadding;
    std::string label = elided(name, room, Font::kLabel, measure_);
    if (label.empty()) return;
    ++labels_;
    list_.text({x0 + kLabelPadding, place.y, room, place.h}, std::move(label),
               {.role = role, .font = Font::kLabel, .on_fill = true});
  }

  void paint_step_lines(const RankModel& rank, int y, int height) {
    const Interval range = scale_.range();
    auto step = std::lower_bound(
        rank.steps.begin(), rank.steps.end(), range.begin,
        [](const analyzer::StepWindow& window, TraceNs time) { return window.window.end < time; });
    if (step == rank.steps.end()) return;
    const int spacing = scale_.pixel_of(step->window.end) - scale_.pixel_of(step->window.begin);
    if (spacing < kStepLinesFrom) return;
    for (; step != rank.steps.end() && step->window.begin <= range.end; ++step) {
      step_line(scale_.pixel_of(step->window.begin), y, height);
      const bool last = step + 1 == rank.steps.end();
      if (last || (step + 1)->window.begin != step->window.end) {
        step_line(scale_.pixel_of(step->window.end), y, height);
      }
    }
  }

  void step_line(int x, int y, int height) { list_.rect({x, y, 1, height}, Role::kStepLine); }

  const RowsArea& area_;
  const Selection& selection_;
  const RunPath* path_;
  const Model& model_;
  TimeScale scale_;
  int width_;
  int height_;
  const TextMeasure& measure_;
  DrawList list_;
  std::vector<SliceBox> boxes_;
  int labels_ = 0;
  int veils_of_ = -1;  // the rank whose rows are being painted
  std::vector<Veil> veils_;
};

void draw_step_strip(const std::vector<analyzer::StepWindow>& steps, const TimeScale& scale,
                     const Selection& selection, int width, const TextMeasure& measure,
                     DrawList& list) {
  auto at = std::partition_point(steps.begin(), steps.end(), [&](const analyzer::StepWindow& step) {
    return step.window.end <= scale.range().begin;
  });
  if (at == steps.end()) return;
  const double step_width = static_cast<double>(at->window.length().ns) * width /
                            static_cast<double>(scale.range().length().ns);
  const int label_width = measure.width(say("step {}", steps.back().index), Font::kBold);
  const int64_t stride = label_stride(step_width, label_width + 12);
  int free_from = 0;
  for (; at != steps.end() && at->window.begin < scale.range().end; ++at) {
    // Ranks end their steps at different times: the room ends at the next step's earliest begin.
    const TraceNs end =
        at + 1 == steps.end() ? at->window.end : std::min(at->window.end, (at + 1)->window.begin);
    const int x0 = std::max(scale.pixel_of(at->window.begin), 0);
    const int x1 = std::min(scale.pixel_of(end), width);
    const bool selected = selection.step == at->index;
    if (selected) {
      list.rect({x0, kRulerHeight, std::max(x1 - x0, 2), kStepStripHeight}, Role::kAccentSoft);
    }
    const std::string label = say("step {}", at->index);
    const int needed = measure.width(label, selected ? Font::kBold : Font::kSmall) + 12;
    const bool cramped = stride == 1 && x1 - x0 < needed;  // partly off the screen
    if (at->index % stride != 0 || cramped || x0 < free_from || x0 + needed > width) continue;
    list.text({x0 + 6, kRulerHeight, needed - 6, kStepStripHeight}, label,
              {.role = selected ? Role::kText : Role::kTextDim,
               .font = selected ? Font::kBold : Font::kSmall});
    free_from = x0 + needed;
  }
}

// Flags on the ruler; a range has a line below it.
void draw_notes(const std::vector<Note>& notes, const TimeScale& scale, int width,
                const TextMeasure& measure, DrawList& list) {
  constexpr int kWidest = 180;
  constexpr int kTop = 3;
  constexpr int kFlag = 18;
  for (const Note& note : notes) {
    const int x0 = scale.pixel_of(note.at.begin);
    const int x1 = scale.pixel_of(note.at.end);
    if (x1 < 0 || x0 >= width) continue;
    list.line({x0, kTop}, {x0, kRulerHeight}, Role::kAccent);
    if (x1 > x0) list.rect({x0, kRulerHeight - 3, x1 - x0, 3}, Role::kAccent);
    const int x = std::max(x0, 0);
    const std::string text = elided(note.text, kWidest - 12, Font::kSmall, measure);
    const Box flag{x, kTop, measure.width(text, Font::kSmall) + 12, kFlag};
    list.rect(flag, Role::kAccent, {}, 0, 3);
    list.text(
        flag, text,
        {.role = Role::kAccent, .font = Font::kSmall, .align = Align::kCentre, .on_fill = true});
  }
}

// "▾" and "▸" as lines, so that they do not depend on a font.
void draw_fold_mark(int x, int y, bool folded, DrawList& list) {
  const int reach = 3;
  if (folded) {
    const Point points[] = {{x, y - reach}, {x + reach, y}, {x, y + reach}};
    list.polyline(points, Role::kTextDim, false, 1);
  } else {
    const Point points[] = {{x - 1, y - 2}, {x + 2, y + 1}, {x + 5, y - 2}};
    list.polyline(points, Role::kTextDim, false, 1);
  }
}

void draw_track(const Model& model, const Selection& selection, const Row& row, int y, int width,
                const TextMeasure& measure, DrawList& list) {
  const bool is_rank = row.kind == RowKind::kRank;
  bool selected = false;
  if (is_rank) {
    const RankModel& rank = model.ranks[static_cast<size_t>(row.rank_index)];
    selected = selection.has_rank(rank.rank);
  } else if (row.kind == RowKind::kThread || row.kind == RowKind::kMemory) {
    selected = selection.track == row.track;
  }
  if (selected) list.rect({0, y, width, row.height}, Role::kAccentSoft);
  constexpr int kRightMargin = 12;
  const int note_width = row.note.empty() ? 0 : measure.width(row.note, Font::kSmall) + 2;
  const int note_x = width - kRightMargin - note_width;
  const int first_line =
      row.kind == RowKind::kThread ? kDepthPitch + 2 * kThreadPadding : row.height;
  const bool heads = row.kind == RowKind::kHost || row.kind == RowKind::kGroup;
  const int indent = heads || row.pinned ? 24 : is_rank ? 40 : 54;
  if ((row.kind == RowKind::kHost || is_rank) && !row.pinned) {
    draw_fold_mark(indent - 11, y + first_line / 2, row.folded, list);
  }
  const Font font = heads || selected ? Font::kBold : is_rank ? Font::kBody : Font::kSmall;
  const int room = (note_width > 0 ? note_x - 8 : width - kRightMargin) - indent;
  list.text({indent, y, room, first_line}, elided(row.label, room, font, measure),
            {.role = heads || is_rank ? Role::kText : Role::kTextDim, .font = font});
  list.text({note_x, y, note_width, first_line}, row.note,
            {.role = row.problem ? Role::kProblem : Role::kTextDim,
             .font = Font::kSmall,
             .align = Align::kRight});
}

}  // namespace

DrawList draw_header(const Model& model, const TimeScale& scale, const Selection& selection,
                     const std::vector<Note>& notes, int width, const TextMeasure& measure) {
  DrawList list;
  list.rect({0, 0, width, kHeaderHeight}, Role::kCanvas);
  std::string bound = say("clock bound unknown");
  if (const std::optional<DurationNs> known = model.clock_bound()) {
    bound = known->ns == 0 ? say("one clock") : fmt::format("± {}", format_duration(*known));
  }
  const int bound_width = measure.width(bound, Font::kSmall) + 12;
  for (const Tick& tick : ruler_ticks(scale, 110)) {
    if (tick.x < 0) continue;
    list.line({tick.x, kRulerHeight - 7}, {tick.x, kRulerHeight - 1}, Role::kBorder);
    const int label_width = measure.width(tick.label, Font::kSmall) + 4;
    if (tick.x + 5 + label_width > width - bound_width - 8) continue;
    list.text({tick.x + 5, 0, label_width, kRulerHeight}, tick.label,
              {.role = Role::kTextDim, .font = Font::kSmall});
  }
  list.text({width - bound_width, 0, bound_width - 10, kRulerHeight}, bound,
            {.role = Role::kTextDim, .font = Font::kSmall, .align = Align::kRight});
  list.line({0, kRulerHeight - 1}, {width, kRulerHeight - 1}, Role::kBorder);
  draw_step_strip(model.steps, scale, selection, width, measure, list);
  draw_notes(notes, scale, width, measure, list);
  list.line({0, kHeaderHeight - 1}, {width, kHeaderHeight - 1}, Role::kBorder);
  return list;
}

DrawList draw_rows(const RowsArea& area, const Selection& selection, const RunPath* path, int width,
                   int height, const TextMeasure& measure) {
  DrawList list = RowPainter(area, selection, path, width, height, measure).paint();
  const std::string& filter = area.tracks.arrangement().filter;
  const bool found = std::ranges::any_of(area.tracks.layout().rows,
                                         [](const Row& row) { return row.kind == RowKind::kHost; });
  if (filter.empty() || found) return list;
  constexpr int kMargin = 26;
  constexpr int kLine = 22;
  const int y = area.tracks.layout().height + kMargin;
  const int room = width - 2 * kMargin;
  list.text(
      {kMargin, y, room, kLine},
      elided(say("No rank, host or thread matches “{}”.", filter), room, Font::kBold, measure),
      {.font = Font::kBold});
  list.text({kMargin, y + kLine, room, kLine},
            say("Empty the filter above the tracks, or go back: Backspace."),
            {.role = Role::kTextDim});
  return list;
}

DrawList draw_tracks(const Model& model, const Tracks& tracks, const Selection& selection,
                     int width, int height, const TextMeasure& measure) {
  DrawList list;
  list.rect({0, 0, width, height}, Role::kWindow);
  for_rows_in_view(tracks, width, height, list, [&](const Row& row, int y) {
    draw_track(model, selection, row, y, width, measure, list);
  });
  return list;
}

DrawList draw_rank_drop(const Model& model, const Tracks& tracks, int width) {
  DrawList list;
  const std::optional<RankDrop>& drop = tracks.rank_drop();
  if (!drop) return list;
  const Layout& layout = tracks.layout();
  const auto index = model.index_of_rank(drop->rank);
  const Row* dragged = index ? layout.of_rank(static_cast<int>(*index)) : nullptr;
  if (dragged != nullptr && tracks.is_in_view(*dragged))
    list.rect({0, tracks.y_of(*dragged), width, dragged->height}, Role::kAccent, {}, kDraggedTint);
  constexpr int kLeft = 26;  // as far in as the ranks
  constexpr int kKnob = 3;
  const int y = std::max(drop->y - tracks.scroll(), layout.fixed_height);
  list.rect({kLeft, y - 1, width - kLeft, 2}, Role::kAccent);
  list.rect({kLeft - kKnob, y - kKnob, 2 * kKnob, 2 * kKnob}, Role::kAccent, {}, 0, kKnob);
  return list;
}

}  // namespace dprof::view
