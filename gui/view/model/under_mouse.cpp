// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/under_mouse.h"

#include <algorithm>

namespace dprof::view {
namespace {

struct Found {
  uint32_t slice = 0;
  uint32_t count = 0;
};

// The longest slice that touches the pixel, or a neighbouring pixel: makes narrow slices easy to
// hit.
std::optional<Found> find(const Slices& slices, const LodIndex& lod, const TimeScale& scale,
                          int x) {
  for (const int offset : {0, -1, 1}) {
    const Interval pixel{scale.time_of(x + offset), scale.time_of(x + offset + 1)};
    const size_t first = first_ending_after(slices, pixel.begin);
    const size_t count = count_in(slices, pixel);
    if (count > 0) {
      return Found{lod.longest(slices.duration_ns, first, first + count),
                   static_cast<uint32_t>(count)};
    }
  }
  return std::nullopt;
}

}  // namespace

Hit hit_test(const Model& model, const Layout& layout, const TimeScale& scale, int x, int y) {
  Hit hit{.row = layout.at(y), .time = scale.time_of(x)};
  if (hit.row == nullptr || hit.row->rank_index < 0) return hit;
  const Row& row = *hit.row;
  const RankModel& rank = model.ranks[static_cast<size_t>(row.rank_index)];
  const int inside = y - row.y;
  if (row.kind == RowKind::kRank) {
    if (inside < kBarTop || inside >= kBarTop + kBarHeight) return hit;
    if (const auto found = find(rank.summary.slices(), rank.summary.lod, scale, x)) {
      hit.piece = found->slice;
      hit.folded = found->count > 1 ? found->count : 0;
    }
    return hit;
  }
  if (row.kind == RowKind::kMemory) {
    hit.memory = row.memory_index;
    return hit;
  }
  const int depth = (inside - kThreadPadding) / kDepthPitch;
  if (inside < kThreadPadding || depth >= row.depths) return hit;
  const auto thread = static_cast<size_t>(row.thread_index);
  const auto level = static_cast<size_t>(depth);
  const RowLanes lanes = rank.row_lanes(thread);
  if (const auto found = find(slices_of(lanes.thread.depths[level]), lanes.lods[level], scale, x)) {
    hit.slice = SlicePlace{row.rank_index, row.thread_index, depth, found->slice};
    hit.folded = found->count > 1 ? found->count : 0;
  }
  return hit;
}

}  // namespace dprof::view
