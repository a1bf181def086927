// SPDX-License-Identifier: Apache-2.0
#include "gui/view/accessible.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/lanes/lane_walk.h"
#include "base/format.h"
#include "gui/view/drawing/texts.h"

namespace dprof::view {
namespace {

std::string share_text(int64_t ns, Interval range) {
  const double share =
      range.empty() ? 0 : static_cast<double>(ns) / static_cast<double>(range.length().ns);
  return fmt::format("{:.0f} %", share * 100);
}

std::string value_of_thread(const analyzer::ThreadLanes& thread, Interval range) {
  int64_t events = 0;
  int64_t busy_ns = 0;
  for (size_t depth = 0; depth < thread.depths.size(); ++depth) {
    const analyzer::Lane& lane = thread.depths[depth];
    const analyzer::SliceRange slices = analyzer::slices_in(lane, range);
    events += static_cast<int64_t>(slices.end - slices.first);
    if (depth > 0) continue;  // of the outermost: the others are inside these
    for (size_t i = slices.first; i < slices.end; ++i) {
      const int64_t begin = std::max(lane.start_ns[i], range.begin.ns);
      busy_ns += std::min(lane.start_ns[i] + lane.duration_ns[i], range.end.ns) - begin;
    }
  }
  return say("{} events, {} busy in view", format_count(events), share_text(busy_ns, range));
}

std::string value_of_rank(const RankModel& rank, Interval range) {
  analyzer::CategoryNs sums{};
  auto piece = std::ranges::partition_point(
      rank.pieces, [&](const analyzer::Piece& one) { return one.span.end <= range.begin; });
  for (; piece != rank.pieces.end() && piece->span.begin < range.end; ++piece) {
    sums[static_cast<size_t>(piece->category)] +=
        (std::min(piece->span.end, range.end) - std::max(piece->span.begin, range.begin)).ns;
  }
  const auto most = std::ranges::max_element(sums);
  if (*most <= 0) return say("nothing in view");
  return say("mostly {}, {} of the time in view",
             analyzer::title_of(static_cast<analyzer::Category>(most - sums.begin())),
             share_text(*most, range));
}

}  // namespace

AccessibleRow accessible_row(const RowsArea& area, const Selection& selection, size_t index,
                             int width) {
  const Row& row = area.tracks.layout().rows[index];
  const int y = area.tracks.y_of(row);
  AccessibleRow out{
      .name = row.label, .box = {0, y, width, row.height}, .in_view = area.tracks.is_in_view(row)};
  if (out.in_view && !row.fixed) {  // the rest is below the fixed ones
    out.box.y = std::max(y, area.tracks.layout().fixed_height);
    out.box.h = y + row.height - out.box.y;
  }
  if (row.rank_index < 0) return out;
  const RankModel& rank = area.model.ranks[static_cast<size_t>(row.rank_index)];
  if (row.kind == RowKind::kThread) {
    const RowLanes lanes = rank.row_lanes(static_cast<size_t>(row.thread_index));
    out.name = say("rank {}, {}", rank.rank, lanes.thread.name);
    out.selected = selection.track == row.track;
  } else if (row.kind == RowKind::kMemory) {
    out.name = say("rank {}, {}", rank.rank, row.label);
    out.selected = selection.track == row.track;
  } else {
    out.selected = selection.has_rank(rank.rank);
  }
  return out;
}

std::string accessible_value(const RowsArea& area, size_t index) {
  const Row& row = area.tracks.layout().rows[index];
  if (row.rank_index < 0) return row.note;
  const RankModel& rank = area.model.ranks[static_cast<size_t>(row.rank_index)];
  if (row.kind == RowKind::kThread) {
    return value_of_thread(rank.row_lanes(static_cast<size_t>(row.thread_index)).thread,
                           area.scale.range());
  }
  if (row.kind == RowKind::kMemory) {
    const analyzer::MemoryCurve& curve = rank.memory[static_cast<size_t>(row.memory_index)].curve;
    const std::optional<HeldMemory> held = held_in(curve.levels, area.scale.range());
    return held ? held_text(curve, *held) : say("nothing known in view");
  }
  return (row.note.empty() ? "" : row.note + ", ") + value_of_rank(rank, area.scale.range());
}

}  // namespace dprof::view
