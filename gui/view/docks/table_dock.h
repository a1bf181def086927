// SPDX-License-Identifier: Apache-2.0
// The dock Table: the events behind the selection, one per line.
//
// Cost  of a frame depends on the visible lines.
#pragma once

#include <string>

#include "gui/view/drawing/panel.h"
#include "gui/view/session/event_figures.h"

namespace dprof::view {

// The visible part when the content is scrolled down to `top`.
[[nodiscard]] Panel draw_table_dock(const Model& model, EventFigures& events, Selecting& selecting,
                                    int width, int height, int top, const TextMeasure& measure);

// The listed events as tab-separated values with a header, for the clipboard; times in nanoseconds.
[[nodiscard]] std::string events_as_text(const Model& model, const EventList& list);
// The same with commas (RFC 4180), for a file.
[[nodiscard]] std::string events_as_csv(const Model& model, const EventList& list);

}  // namespace dprof::view
