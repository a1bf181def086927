// SPDX-License-Identifier: Apache-2.0
// Draws a session: passes each page, dock and timeline layer the objects that it needs. The session
// is open.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/session.h"
#include "gui/view/timeline/rows_area.h"

namespace dprof::view {

struct PanelSize {
  int width = 0;
  int height = 0;
};

// The content of a scrolling page from `top` on, in pixels; empty for the timeline and Ranks ×
// steps, which have panes of their own.
[[nodiscard]] Panel draw_page(Session& session, Page page, PanelSize size, int top,
                              const TextMeasure& measure);

// `fields` describe the selected row (analyzer::describe_row); empty = none is selected.
[[nodiscard]] Panel draw_dock(Session& session, Dock dock, PanelSize size, int top,
                              const Fields& fields, const TextMeasure& measure);

// The timeline (timeline_view.h).
[[nodiscard]] RowsArea rows_area(const Session& session);
[[nodiscard]] DrawList draw_header(const Session& session, int width, const TextMeasure& measure);
[[nodiscard]] DrawList draw_rows(const Session& session, int width, int height,
                                 const TextMeasure& measure);
[[nodiscard]] DrawList draw_overlay(const Session& session, int width, int height,
                                    const TextMeasure& measure);
[[nodiscard]] DrawList draw_tracks(const Session& session, int width, int height,
                                   const TextMeasure& measure);

}  // namespace dprof::view
