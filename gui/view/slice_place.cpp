// SPDX-License-Identifier: Apache-2.0
#include "gui/view/slice_place.h"

#include <fmt/format.h>

namespace dprof::view {

const RankModel& rank_of(const Model& model, const SlicePlace& place) {
  return model.ranks[static_cast<size_t>(place.rank_index)];
}

const analyzer::ThreadLanes& thread_of(const Model& model, const SlicePlace& place) {
  return rank_of(model, place).lanes().threads[static_cast<size_t>(place.thread_index)];
}

const analyzer::Lane& lane_of(const Model& model, const SlicePlace& place) {
  return thread_of(model, place).depths[static_cast<size_t>(place.depth)];
}

const std::string& name_of(const Model& model, const SlicePlace& place) {
  const int32_t name = lane_of(model, place).name[place.slice];
  return rank_of(model, place).lanes().names[static_cast<size_t>(name)];
}

Interval span_of(const Model& model, const SlicePlace& place) {
  const analyzer::Lane& lane = lane_of(model, place);
  const TraceNs begin{lane.start_ns[place.slice]};
  return {begin, begin + DurationNs{lane.duration_ns[place.slice]}};
}

std::string selector_of(const Model& model, const SlicePlace& place) {
  return fmt::format("row:{}/{}/{}", rank_of(model, place).rank, thread_of(model, place).table,
                     lane_of(model, place).row[place.slice]);
}

}  // namespace dprof::view
