// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/slice_place.h"

namespace dprof::view {

const RankModel& rank_of(const Model& model, const SlicePlace& place) {
  return model.ranks[static_cast<size_t>(place.rank_index)];
}

const analyzer::ThreadLanes& thread_of(const Model& model, const SlicePlace& place) {
  return rank_of(model, place).row_lanes(static_cast<size_t>(place.thread_index)).thread;
}

const analyzer::Lane& lane_of(const Model& model, const SlicePlace& place) {
  return thread_of(model, place).depths[static_cast<size_t>(place.depth)];
}

const std::string& name_of(const Model& model, const SlicePlace& place) {
  const RowLanes row = rank_of(model, place).row_lanes(static_cast<size_t>(place.thread_index));
  const analyzer::Lane& lane = row.thread.depths[static_cast<size_t>(place.depth)];
  return row.names[static_cast<size_t>(lane.name[place.slice])];
}

Interval span_of(const Model& model, const SlicePlace& place) {
  const analyzer::Lane& lane = lane_of(model, place);
  const TraceNs begin{lane.start_ns[place.slice]};
  return {begin, begin + DurationNs{lane.duration_ns[place.slice]}};
}

}  // namespace dprof::view
