// SPDX-License-Identifier: Apache-2.0
// The overlay's lines: along an event's flow, and between ranks, for messages and collectives.
//
// If the clocks of two ranks agree less closely than a few pixels, their line is a band as wide as
// the uncertainty: it is then unknown which end came first.
#pragma once

#include <optional>
#include <vector>

#include "gui/view/drawing/draw_list.h"
#include "gui/view/session/event_flow.h"
#include "gui/view/timeline/rows_area.h"

namespace dprof::view {

struct ShownSlice {
  Box box;
  const Row* row;
};

// The slice's positions on the screen: in its own row, and in a pinned copy.
[[nodiscard]] std::vector<ShownSlice> shown_slices(const RowsArea& area, const SlicePlace& place);

// From each event of the selected one's flow to the next on its rank, even if one is narrower than
// a pixel.
void draw_flow(const EventFlow& flow, const RowsArea& area, DrawList& list);

// From sender to receiver.
void draw_messages(const EventFlow& flow, const RowsArea& area, int height, DrawList& list);

// Through the ranks' arrivals at a collective. Returns where there is room for words about it;
// nullopt = no part is visible.
std::optional<Point> draw_arrivals(const analyzer::MatchedCollective& collective,
                                   const RowsArea& area, int width, int height, DrawList& list);

}  // namespace dprof::view
