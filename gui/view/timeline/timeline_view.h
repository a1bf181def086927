// SPDX-License-Identifier: Apache-2.0
// The timeline as draw lists: a static layer (slices, labels, step boundaries) that changes with
// data, zoom and scroll, and an overlay (selection, arrivals of a collective, what is under the
// mouse) that is painted alone while the mouse moves.
//
// Cost  follows the pixels and visible rows, not the events.
#pragma once

#include "gui/view/drawing/draw_list.h"
#include "gui/view/figures/named_marks.h"
#include "gui/view/model/saved_view.h"
#include "gui/view/session/event_flow.h"
#include "gui/view/timeline/rows_area.h"

namespace dprof::view {

inline constexpr int kRulerHeight = 26;
inline constexpr int kStepStripHeight = 20;
inline constexpr int kHeaderHeight = kRulerHeight + kStepStripHeight;

// Ruler with the clock bound, and the numbers of steps. `width` × kHeaderHeight.
[[nodiscard]] DrawList draw_header(const Model& model, const TimeScale& scale,
                                   const Selection& selection, const std::vector<Note>& notes,
                                   int width, const TextMeasure& measure);

// The rows, scrolled below the pinned ones. Coordinates begin at the area's top left. `path`: the
// path shown; nullptr = none.
[[nodiscard]] DrawList draw_rows(const RowsArea& area, const Selection& selection,
                                 const RunPath* path, int width, int height,
                                 const TextMeasure& measure);

// Drawn over the rows, apart from the item under the mouse.
struct Overlaid {
  const Selection& selection;
  const EventFlow& flow;
  const NamedMarks& marks;
  const RunPath* path;  // the one shown; nullptr = none
  std::optional<Interval> measured;
};
[[nodiscard]] DrawList draw_overlay(const RowsArea& area, const Overlaid& what, int width,
                                    int height, const TextMeasure& measure);

// The track list: names and notes, aligned with the rows.
[[nodiscard]] DrawList draw_tracks(const Model& model, const Tracks& tracks,
                                   const Selection& selection, int width, int height,
                                   const TextMeasure& measure);

// Drawn over it: the place where a dragged rank would be dropped.
[[nodiscard]] DrawList draw_rank_drop(const Model& model, const Tracks& tracks, int width);

}  // namespace dprof::view
