// SPDX-License-Identifier: Apache-2.0
// Moves the selection to its neighbours, by keys: the next finding, step, arriving rank, event.
// event.
//
// Threading  the user interface's thread only.
#pragma once

#include <string_view>

#include "gui/view/session/event_flow.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

// Each returns false if there is none in that direction.
class Walk {
 public:
  Walk(const SharedModel& model, const Viewport& viewport, Selecting& selecting,
       const EventFlow& flow)
      : model_(model),
        viewport_(viewport),
        selecting_(selecting),
        selection_(selecting.selection()),
        flow_(flow) {}

  bool next_finding(int by);
  bool next_step(int by);
  // To the next notable rank (figures/notable_ranks.h), culprits first; wraps around.
  bool next_notable(int by);
  // Along the selected collective's members in order of arrival.
  bool next_arrival(int by);
  // Along the flow of the selected event.
  bool next_in_flow(int by);
  // To a neighbouring slice in the selected one's lane.
  bool next_slice(int by);
  // To the enclosing event (by < 0), or the first one inside the selected event.
  bool next_depth(int by);
  // To the next event whose name matches, from the selection or the visible range on.
  bool next_named(std::string_view pattern, int by);

 private:
  const SharedModel& model_;
  const Viewport& viewport_;
  Selecting& selecting_;
  const Selection& selection_;
  const EventFlow& flow_;
};

}  // namespace dprof::view
