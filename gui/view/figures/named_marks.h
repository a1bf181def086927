// SPDX-License-Identifier: Apache-2.0
// Positions of the events of one name: marks on the lanes, few enough for a frame to draw.
#pragma once

#include <vector>

#include "gui/view/figures/event_list.h"

namespace dprof::view {

struct MarkQuery {
  EventQuery events;      // with a name; "" = no marks
  DurationNs resolution;  // events closer together than this are one mark
  friend bool operator==(const MarkQuery&, const MarkQuery&) = default;
};

struct LaneMarks {
  SlicePlace lane;              // of its first event
  std::vector<Interval> marks;  // sorted by time, disjoint
};
using NamedMarks = std::vector<LaneMarks>;

// O(events in the range).
[[nodiscard]] NamedMarks marks_of(const RunEvents& events, const MarkQuery& query);

}  // namespace dprof::view
