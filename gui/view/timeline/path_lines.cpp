// SPDX-License-Identifier: Apache-2.0
#include "gui/view/timeline/path_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/format.h"
#include "gui/view/drawing/texts.h"

namespace dprof::view {
namespace {

constexpr int kVeilFrom = 60;     // pixels per step: narrower ones show nothing
constexpr int kLeastVeil = 3;     // pixels
constexpr int kLeastOutline = 4;  // narrower parts are a line
constexpr int kJumpReach = 4;     // of the mouse, on either side
constexpr uint8_t kVeilTints[kMostSlack + 1] = {255, 150, 95, 60};  // opacity of what is below

// The rows with the ranks' bars, looked up once per frame; if a rank has two, one in view.
class PathRows {
 public:
  explicit PathRows(const RowsArea& area) : tracks_(area.tracks) {
    rows_.resize(area.model.ranks.size(), nullptr);
    for (const Row& row : area.tracks.layout().rows) {
      if (row.kind != RowKind::kRank) continue;
      const Row*& found = rows_[static_cast<size_t>(row.rank_index)];
      if (found == nullptr || !area.tracks.is_in_view(*found)) found = &row;
    }
  }
  // The top of its bar; nullopt = the rank is not shown. If behind the fixed rows: their edge.
  [[nodiscard]] std::optional<int> bar_top(int rank_index) const {
    const Row* row = rows_[static_cast<size_t>(rank_index)];
    if (row == nullptr) return std::nullopt;
    const int y = tracks_.y_of(*row) + kBarTop;
    const int fixed = tracks_.layout().fixed_height;
    return row->fixed ? y : std::max(y, fixed - kBarHeight);
  }

 private:
  const Tracks& tracks_;
  std::vector<const Row*> rows_;
};

// The first one, in time order, that ends after a moment.
template <typename Part>
auto first_after(const std::vector<Part>& parts, TraceNs at) {
  return std::partition_point(parts.begin(), parts.end(),
                              [at](const Part& part) { return part.span.end <= at; });
}

int step_width(const RunPath& path, const TimeScale& scale) {
  return scale.pixel_of(scale.range().begin + DurationNs{path.median_ns});
}

void outline(Box box, DrawList& list) {
  constexpr int kThick = 2;
  list.rect({box.x, box.y, box.w, kThick}, Role::kText);
  list.rect({box.x, box.y + box.h - kThick, box.w, kThick}, Role::kText);
  list.rect({box.x, box.y, kThick, box.h}, Role::kText);
  list.rect({box.x + box.w - kThick, box.y, kThick, box.h}, Role::kText);
}

// From bar to bar, with an arrowhead where the path continues.
void draw_jump(int x, int from_top, int to_top, DrawList& list) {
  const bool down = to_top > from_top;
  const int from = down ? from_top + kBarHeight : from_top;
  const int to = down ? to_top : to_top + kBarHeight;
  const int back = down ? -1 : 1;
  list.rect({x - 1, std::min(from, to), 2, std::max(std::abs(to - from), 2)}, Role::kText);
  constexpr int kHead = 5;
  for (int i = 0; i < kHead; ++i)
    list.rect({x - i - 1, to + back * i - (down ? 1 : 0), 2 * i + 2, 1}, Role::kText);
}

// A jump's x and the heights of its ends; nullopt = one of its ranks is not shown.
struct JumpPlace {
  int x = 0;
  int from_top = 0;
  int to_top = 0;
};
std::optional<JumpPlace> place_of(const TimeScale& scale, const PathRows& rows,
                                  const PathJump& jump) {
  const auto from = rows.bar_top(jump.from);
  const auto to = rows.bar_top(jump.to);
  if (!from || !to || *from == *to) return std::nullopt;
  return JumpPlace{scale.pixel_of(jump.at), *from, *to};
}

}  // namespace

std::vector<Veil> veils_of(const RunPath* shown, const TimeScale& scale, int rank_index,
                           int width) {
  std::vector<Veil> veils;
  if (shown == nullptr || step_width(*shown, scale) < kVeilFrom) return veils;
  const RunPath& path = *shown;
  const std::vector<SlackPart>& parts = path.slack[static_cast<size_t>(rank_index)];
  const auto veil = [&](int from, int to, uint8_t grade) {
    from = std::max(from, 0);
    to = std::min(to, width);
    if (to > from && grade > 0) veils.push_back({from, to, grade});
  };
  // Time that is neither work nor on the path is waiting: all of it is slack.
  for (const PathStep& step : path.steps) {
    if (step.span.end <= scale.range().begin) continue;
    if (step.span.begin >= scale.range().end) break;
    int free_from = scale.pixel_of(step.span.begin);
    const int end = scale.pixel_of(step.span.end);
    uint8_t grade = kMostSlack;
    int begun = free_from;
    const auto go_on = [&](int at, uint8_t next) {
      if (next == grade) return;
      veil(begun, at, grade);
      begun = at;
      grade = next;
    };
    // Work in order of time, with the path's parts in between.
    auto work = first_after(parts, std::max(step.span.begin, scale.range().begin));
    auto on = first_after(path.parts, std::max(step.span.begin, scale.range().begin));
    while (true) {
      while (on != path.parts.end() && on->span.begin < step.span.end &&
             on->rank_index != rank_index)
        ++on;
      const bool more_path = on != path.parts.end() && on->span.begin < step.span.end;
      const bool more_work = work != parts.end() && work->span.begin < step.span.end;
      if (!more_path && !more_work) break;
      const bool by_path = more_path && (!more_work || on->span.begin <= work->span.begin);
      const Interval span = by_path ? on->span : work->span;
      const uint8_t next = by_path ? uint8_t{0} : work->grade;
      const int from = std::max(scale.pixel_of(span.begin), free_from);
      const int to = std::min(scale.pixel_of(span.end), end);
      if (by_path) {
        ++on;
      } else {
        ++work;
      }
      if (from > width) break;
      if (to - from < kLeastVeil) continue;
      if (from > free_from) go_on(free_from, kMostSlack);
      go_on(from, next);
      free_from = to;
    }
    go_on(free_from, kMostSlack);
    veil(begun, end, grade);
  }
  return veils;
}

void draw_veils(const std::vector<Veil>& veils, int y, int height, DrawList& list) {
  for (const Veil& veil : veils)
    list.rect({veil.from, y, veil.to - veil.from, height}, Role::kCanvas, {},
              kVeilTints[veil.grade]);
}

void draw_path(const RunPath* shown, const RowsArea& area, int width, int height, DrawList& list) {
  if (shown == nullptr) return;
  const RunPath& path = *shown;
  const PathRows rows(area);
  const TimeScale& scale = area.scale;
  list.clip({0, 0, width, height});
  auto part = first_after(path.parts, scale.range().begin);
  while (part != path.parts.end() && part->span.begin < scale.range().end) {
    const int x0 = std::max(scale.pixel_of(part->span.begin), -kLeastOutline);
    const int x1 = std::min(scale.pixel_of(part->span.end), width + kLeastOutline);
    const auto top = rows.bar_top(part->rank_index);
    if (top && x1 - x0 >= kLeastOutline) {
      outline({x0, *top, x1 - x0, kBarHeight}, list);
    } else if (top) {
      list.rect({x0, *top, std::max(x1 - x0, 1), kBarHeight}, Role::kText);
    }
    // Of parts narrower than a pixel, continue with the next that extends beyond it.
    const TraceNs beyond = scale.time_of(x0 + 1);
    part = part->span.end < beyond ? std::max(part + 1, first_after(path.parts, beyond)) : part + 1;
  }
  int last_x = -1;
  for (auto jump = std::ranges::lower_bound(path.jumps, scale.range().begin, {}, &PathJump::at);
       jump != path.jumps.end() && jump->at <= scale.range().end; ++jump) {
    const auto place = place_of(scale, rows, *jump);
    if (!place || place->x == last_x) continue;
    last_x = place->x;
    draw_jump(place->x, place->from_top, place->to_top, list);
  }
  list.unclip();
}

std::optional<size_t> jump_at(const RunPath* shown, const RowsArea& area, Point at) {
  if (shown == nullptr) return std::nullopt;
  const RunPath& path = *shown;
  const TimeScale& scale = area.scale;
  const TraceNs from = scale.time_of(at.x - kJumpReach);
  const TraceNs to = scale.time_of(at.x + kJumpReach + 1);
  const PathRows rows(area);
  std::optional<size_t> nearest;
  int least = kJumpReach + 1;
  for (auto jump = std::ranges::lower_bound(path.jumps, from, {}, &PathJump::at);
       jump != path.jumps.end() && jump->at < to; ++jump) {
    const auto place = place_of(scale, rows, *jump);
    if (!place) continue;
    const auto [upper, lower] = std::minmax(place->from_top, place->to_top);
    const bool between = at.y >= upper + kBarHeight && at.y < lower;
    const int far = std::abs(place->x - at.x);
    if (!between || far >= least) continue;
    least = far;
    nearest = static_cast<size_t>(jump - path.jumps.begin());
  }
  return nearest;
}

PathWords words_of_jump(const RowsArea& area, size_t index) {
  const Model& model = area.model;
  const PathJump& jump = model.path->jumps[index];
  const auto number = [&](int rank_index) {
    return model.ranks[static_cast<size_t>(rank_index)].rank;
  };
  const auto resolution = std::max<int64_t>(area.scale.range().length().ns / 10'000, 1);
  return {.title = model.path->names[jump.by],
          .lines = {say("the path continues: rank {} waited for rank {}", number(jump.to),
                        number(jump.from)),
                    say("step {}, at {}", model.path->steps[jump.step].step,
                        format_moment(jump.at, resolution))}};
}

std::string path_words_at(const RunPath* shown, int rank_index, TraceNs at) {
  if (shown == nullptr) return {};
  const RunPath& path = *shown;
  const auto in_step = std::ranges::find_if(path.steps, [&](const PathStep& step) {
    return step.span.begin <= at && at < step.span.end;
  });
  if (in_step == path.steps.end()) return {};
  if (const PathPart* part = path.part_at(rank_index, at))
    return say("on the critical path of step {}: {}", in_step->step, path.names[part->name]);
  const SlackPart* slack = path.slack_at(rank_index, at);
  if (slack == nullptr) return say("off the critical path: it waits");
  if (slack->grade == 0) return say("as good as on the critical path");
  constexpr const char* kAtLeast[] = {"", "0.5 %", "5 %", "20 %"};
  return say("off the critical path: at least {} of the step to spare", kAtLeast[slack->grade]);
}

}  // namespace dprof::view
