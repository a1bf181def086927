// SPDX-License-Identifier: Apache-2.0
// The timeline as draw lists: a static layer (slices, labels, step boundaries) that changes with
// data, zoom and scroll, and an overlay (selection, arrivals of a collective, what is under the
// mouse) that is painted alone while the mouse moves.
//
// Cost  follows the pixels and visible rows, not the events.
#pragma once

#include "gui/view/drawing/draw_list.h"
#include "gui/view/session/session.h"

namespace dprof::view {

inline constexpr int kRulerHeight = 26;
inline constexpr int kStepStripHeight = 20;
inline constexpr int kHeaderHeight = kRulerHeight + kStepStripHeight;

// Ruler with the clock bound, and the numbers of steps. `width` × kHeaderHeight.
[[nodiscard]] DrawList draw_header(const Session& session, int width, const TextMeasure& measure);

// The rows, scrolled below the pinned ones. Coordinates begin at the area's top left.
[[nodiscard]] DrawList draw_rows(const Session& session, int width, int height,
                                 const TextMeasure& measure);

[[nodiscard]] DrawList draw_overlay(const Session& session, int width, int height,
                                    const TextMeasure& measure);

// The track list: names and notes, aligned with the rows.
[[nodiscard]] DrawList draw_tracks(const Session& session, int width, int height,
                                   const TextMeasure& measure);

// Above it: where a rank that is dragged would come to stand.
[[nodiscard]] DrawList draw_rank_drop(const Session& session, int width);

}  // namespace dprof::view
