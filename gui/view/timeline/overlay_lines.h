// SPDX-License-Identifier: Apache-2.0
// The overlay's lines: along what an event led to, and between ranks, by messages and collectives.
//
// Where the clocks of two ranks agree less well than a few pixels, their line is a band as wide as
// the doubt: which of its ends came first is then not known.
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

// Where the slice is on the screen: in its own row, and in a pinned copy of that.
[[nodiscard]] std::vector<ShownSlice> shown_slices(const RowsArea& area, const SlicePlace& place);

// From each event of the selected one's flow to the next on its rank, also where one is narrower
// than a pixel.
void draw_flow(const EventFlow& flow, const RowsArea& area, DrawList& list);

// From who sends to who receives.
void draw_messages(const EventFlow& flow, const RowsArea& area, int height, DrawList& list);

// Through the moments at which the ranks came to a collective. Where there is room for
// words about it; nullopt = nothing of it can be seen.
std::optional<Point> draw_arrivals(const analyzer::MatchedCollective& collective,
                                   const RowsArea& area, int width, int height, DrawList& list);

}  // namespace dprof::view
