// SPDX-License-Identifier: Apache-2.0
// One event of a thread's lane, and its properties.
#pragma once

#include <cstdint>
#include <string>

#include "gui/view/model/model.h"

namespace dprof::view {

struct SlicePlace {
  int rank_index = 0;    // into Model::ranks
  int thread_index = 0;  // of RankModel::row_lanes
  int depth = 0;
  uint32_t slice = 0;
  friend bool operator==(const SlicePlace&, const SlicePlace&) = default;
};

[[nodiscard]] const RankModel& rank_of(const Model& model, const SlicePlace& place);
[[nodiscard]] const analyzer::ThreadLanes& thread_of(const Model& model, const SlicePlace& place);
[[nodiscard]] const analyzer::Lane& lane_of(const Model& model, const SlicePlace& place);
[[nodiscard]] const std::string& name_of(const Model& model, const SlicePlace& place);
[[nodiscard]] Interval span_of(const Model& model, const SlicePlace& place);
// A range of event durations, both ends included.
struct DurationRange {
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  [[nodiscard]] bool contains(int64_t ns) const { return ns >= from_ns && ns <= to_ns; }
  friend bool operator==(const DurationRange&, const DurationRange&) = default;
};

}  // namespace dprof::view
