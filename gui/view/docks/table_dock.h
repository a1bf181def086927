// SPDX-License-Identifier: Apache-2.0
// The dock Table: the events behind the selection, a line each.
//
// Cost  a frame follows the lines in view.
#pragma once

#include <string>

#include "gui/view/drawing/panel.h"
#include "gui/view/session/event_figures.h"

namespace dprof::view {

// What is in view when the content is scrolled down to `top`.
[[nodiscard]] Panel draw_table_dock(const Model& model, EventFigures& events, Selecting& selecting,
                                    int width, int height, int top, const TextMeasure& measure);

// The listed events as tab-separated values with a head, for the clipboard; times in nanoseconds.
[[nodiscard]] std::string events_as_text(const Model& model, const EventList& list);
// The same with commas (RFC 4180), for a file.
[[nodiscard]] std::string events_as_csv(const Model& model, const EventList& list);

}  // namespace dprof::view
