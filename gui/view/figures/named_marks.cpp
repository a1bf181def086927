// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/named_marks.h"

#include <algorithm>

namespace dprof::view {

NamedMarks marks_of(const RunEvents& events, const MarkQuery& query) {
  NamedMarks lanes;
  if (query.events.name.empty()) return lanes;
  each_event(events, query.events, [&](SlicePlace place, Interval span) {
    place.slice = 0;
    if (lanes.empty() || lanes.back().lane != place) lanes.push_back({place, {}});
    std::vector<Interval>& marks = lanes.back().marks;
    if (!marks.empty() && span.begin < marks.back().end + query.resolution) {
      marks.back().end = std::max(marks.back().end, span.end);
    } else {
      marks.push_back(span);
    }
  });
  return lanes;
}

}  // namespace dprof::view
