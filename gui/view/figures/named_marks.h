// SPDX-License-Identifier: Apache-2.0
// Where the events of one name are: marks on the lanes, so few that a frame can draw them.
#pragma once

#include <vector>

#include "gui/view/figures/event_list.h"

namespace dprof::view {

struct MarkQuery {
  EventQuery events;      // with a name; "" = no marks
  DurationNs resolution;  // events that lie closer together than this are one mark
  friend bool operator==(const MarkQuery&, const MarkQuery&) = default;
};

struct LaneMarks {
  SlicePlace lane;              // of its first event
  std::vector<Interval> marks;  // by time, apart from one another
};
using NamedMarks = std::vector<LaneMarks>;

// O(events in the range).
[[nodiscard]] NamedMarks marks_of(const RunEvents& events, const MarkQuery& query);

}  // namespace dprof::view
