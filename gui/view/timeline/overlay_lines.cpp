// SPDX-License-Identifier: Apache-2.0
#include "gui/view/timeline/overlay_lines.h"

#include <algorithm>
#include <map>

#include "gui/view/figures/collective_times.h"
#include "gui/view/timeline/timeline_view.h"

namespace dprof::view {
namespace {

constexpr int kBandFrom = 4;  // uncertainty in pixels from which a band is drawn
constexpr uint8_t kLineBandTint = 190;

// A moment of a rank on the screen.
struct Moment {
  Point at;
  int reach = 0;  // may be off by this many pixels either way
};

// Whether a point of the row is scrolled behind the fixed rows.
bool is_covered(const RowsArea& area, const Row& row, int y) {
  const int fixed = area.tracks.layout().fixed_height;
  return !row.fixed && fixed > 0 && y < fixed;
}

// The position of the slice for a line: one in view, if possible. If it is covered, the edge that
// covers it.
std::optional<Box> box_of(const RowsArea& area, const SlicePlace& place) {
  std::optional<Box> box;
  for (const ShownSlice& shown : shown_slices(area, place)) {
    box = shown.box;
    if (is_covered(area, *shown.row, box->y + box->h / 2)) {
      box->y = area.tracks.layout().fixed_height;
      box->h = 0;
    } else if (area.tracks.is_in_view(*shown.row)) {
      break;
    }
  }
  return box;
}

// The middle of a rank's bar.
int bar_y(const RowsArea& area, const Row& row) {
  return area.tracks.y_of(row) + kBarTop + kBarHeight / 2;
}

int reach_of(const TimeScale& scale, std::optional<DurationNs> bound) {
  return bound ? scale.pixel_of(scale.range().begin + *bound) : 0;
}

bool is_band(const Moment& moment) { return 2 * moment.reach >= kBandFrom; }

void draw_dot(Point at, int radius, Role role, DrawList& list) {
  list.rect({at.x - radius, at.y - radius, 2 * radius, 2 * radius}, role, {}, 0,
            static_cast<uint8_t>(radius));
}

// Marks the error bound of the moment, from end to end.
void draw_doubt(const Moment& moment, Role role, DrawList& list) {
  if (!is_band(moment)) return;
  constexpr int kEnd = 4;
  for (const int x : {moment.at.x - moment.reach, moment.at.x + moment.reach})
    list.line({x, moment.at.y - kEnd}, {x, moment.at.y + kEnd}, role);
  list.line({moment.at.x - moment.reach, moment.at.y}, {moment.at.x + moment.reach, moment.at.y},
            role);
}

// At each height as wide as the uncertainty there.
void draw_band(Moment from, Moment to, int height, Role role, DrawList& list) {
  if (from.at.y > to.at.y) std::swap(from, to);
  const int rows = std::max(to.at.y - from.at.y, 1);
  const auto between = [&](int a, int b, int row) {
    return a + static_cast<int>(static_cast<int64_t>(b - a) * row / rows);
  };
  const auto left = [&](int row) {
    return between(from.at.x - from.reach, to.at.x - to.reach, row);
  };
  const auto right = [&](int row) {
    return between(from.at.x + from.reach, to.at.x + to.reach, row);
  };
  for (int row = std::max(-from.at.y, 0); row < std::min(rows, height - from.at.y); ++row) {
    const int x0 = std::min(left(row), left(row + 1));
    const int x1 = std::max(right(row), right(row + 1));
    list.rect({x0, from.at.y + row, std::max(x1 - x0, 1), 1}, role, {}, kLineBandTint);
  }
}

// A band if one of the moments is uncertain, else a line.
void draw_between(const Moment& from, const Moment& to, int height, Role role, bool dashed,
                  DrawList& list) {
  if (is_band(from) || is_band(to)) {
    draw_band(from, to, height, role, list);
    return;
  }
  const Point points[] = {from.at, to.at};
  list.polyline(points, role, dashed, 2);
}

// The position of a message's side: in its lane, or in its rank's row; nullopt = rank not shown.
std::optional<Point> point_of(const RowsArea& area, const analyzer::CollectiveMember& side,
                              const std::optional<SlicePlace>& place) {
  const std::optional<TraceNs> time = arrival_of(side);
  const std::optional<size_t> index = area.model.index_of_rank(side.rank);
  if (!time || !index) return std::nullopt;
  const int x = area.scale.pixel_of(*time);
  if (place) {
    if (const std::optional<Box> box = box_of(area, *place)) return Point{x, box->y + box->h / 2};
  }
  const Row* row = area.tracks.layout().of_rank(static_cast<int>(*index));
  if (row == nullptr) return std::nullopt;
  const int y = bar_y(area, *row);
  return Point{x, is_covered(area, *row, y) ? area.tracks.layout().fixed_height : y};
}

void draw_message(const RowsArea& area, const ShownMessage& shown, int height, DrawList& list) {
  const Model& model = area.model;
  const analyzer::MatchedMessage& message = model.messages[shown.message];
  if (!message.send || !message.receive) return;
  const std::optional<Point> from = point_of(area, *message.send, shown.send);
  const std::optional<Point> to = point_of(area, *message.receive, shown.receive);
  if (!from || !to) return;
  const TraceNs sent = *arrival_of(*message.send);
  const TraceNs received = *arrival_of(*message.receive);
  const std::optional<DurationNs> bound =
      model.clock_bound(message.send->rank, sent, message.receive->rank, received);
  const Moment end{*to, reach_of(area.scale, bound)};
  draw_between({*from}, end, height, Role::kAccent, /*dashed=*/!bound, list);
  draw_doubt(end, Role::kAccent, list);
  draw_dot(*from, 3, Role::kAccent, list);
  draw_dot(*to, 5, Role::kAccent, list);  // it is sent there
}

// One moment per rank in view, from top to bottom. Relative to `reference`, each can be off by its
// reach.
std::vector<std::pair<int, Moment>> arrivals_in_view(const RowsArea& area,
                                                     const analyzer::MatchedCollective& collective,
                                                     const analyzer::CollectiveMember& reference) {
  const Model& model = area.model;
  const TimeScale scale = area.scale;
  std::vector<std::pair<int, Moment>> arrivals;
  for (const Row& row : area.tracks.layout().rows) {
    const int y = bar_y(area, row);
    if (row.kind != RowKind::kRank || is_covered(area, row, y)) continue;
    const int rank = model.ranks[static_cast<size_t>(row.rank_index)].rank;
    for (const analyzer::CollectiveMember& member : collective.members) {
      const std::optional<TraceNs> arrival = arrival_of(member);
      if (member.rank != rank || !arrival) continue;
      const auto bound = model.clock_bound(rank, *arrival, reference.rank, *arrival_of(reference));
      arrivals.push_back({rank, {{scale.pixel_of(*arrival), y}, reach_of(scale, bound)}});
    }
  }
  return arrivals;
}

}  // namespace

std::vector<ShownSlice> shown_slices(const RowsArea& area, const SlicePlace& place) {
  std::vector<ShownSlice> shown;
  const Interval span = span_of(area.model, place);
  const TimeScale scale = area.scale;
  const int x0 = scale.pixel_of(span.begin);
  const int w = std::max(scale.pixel_of(span.end) - x0, 2);
  for (const Row& row : area.tracks.layout().rows) {
    if (row.kind != RowKind::kThread || row.rank_index != place.rank_index ||
        row.thread_index != place.thread_index) {
      continue;
    }
    shown.push_back({{x0, area.tracks.y_of(row) + depth_top(place.depth), w, kDepthHeight}, &row});
  }
  return shown;
}

void draw_flow(const EventFlow& flow, const RowsArea& area, DrawList& list) {
  std::map<int, Point> former;  // by rank
  for (const SlicePlace& place : flow.places()) {
    const std::optional<Box> box = box_of(area, place);
    if (!box) continue;
    const Point begin{box->x, box->y + box->h / 2};
    if (const auto before = former.find(place.rank_index); before != former.end()) {
      const Point points[] = {before->second, {begin.x - 8, begin.y}, begin};
      list.polyline(points, Role::kAccent, false, 2);
      draw_dot(begin, 3, Role::kAccent, list);
    }
    former[place.rank_index] = {std::min(box->x + box->w, box->x + 6), begin.y};
  }
}

void draw_messages(const EventFlow& flow, const RowsArea& area, int height, DrawList& list) {
  for (const ShownMessage& shown : flow.messages()) draw_message(area, shown, height, list);
}

std::optional<Point> draw_arrivals(const analyzer::MatchedCollective& collective,
                                   const RowsArea& area, int width, int height, DrawList& list) {
  const std::vector<const analyzer::CollectiveMember*> came = arrivals_of(collective);
  if (came.empty()) return std::nullopt;
  const auto named = std::ranges::find_if(came, [&](const analyzer::CollectiveMember* member) {
    return member->rank == collective.last_arriver;
  });
  const auto arrivals =
      arrivals_in_view(area, collective, named == came.end() ? *came.back() : **named);
  const bool visible = std::ranges::any_of(arrivals, [&](const auto& arrival) {
    return arrival.second.at.x >= 0 && arrival.second.at.x < width;
  });
  if (!visible) return std::nullopt;
  const bool doubtful =
      std::ranges::any_of(arrivals, [](const auto& arrival) { return is_band(arrival.second); });
  std::vector<Point> points;
  for (const auto& [rank, moment] : arrivals) points.push_back(moment.at);
  if (doubtful) {
    for (size_t i = 1; i < arrivals.size(); ++i)
      draw_between(arrivals[i - 1].second, arrivals[i].second, height, Role::kProblem, true, list);
  } else if (points.size() > 1) {
    list.polyline(points, Role::kProblem, true, 2);
  }
  std::optional<Point> last;
  for (const auto& [rank, moment] : arrivals) {
    draw_doubt(moment, Role::kProblem, list);
    const bool is_last = rank == collective.last_arriver;
    draw_dot(moment.at, is_last ? 6 : 3, Role::kProblem, list);
    if (!is_last) continue;
    list.frame({moment.at.x - 7, moment.at.y - 7, 14, 14}, Role::kCanvas, 7);
    if (!(last && last->y < height)) last = moment.at;
  }
  return last ? last : points.front();
}

}  // namespace dprof::view
