// SPDX-License-Identifier: Apache-2.0
// The panels beside the timeline, as draw lists: findings, details of what is selected,
// diagnostics, the top bar and the status bar.
#pragma once

#include <string>
#include <vector>

#include "gui/view/docks/selection_table.h"
#include "gui/view/drawing/draw_list.h"
#include "gui/view/session/session.h"

namespace dprof::view {

struct FindingsPanel {
  Panel panel;
  std::vector<Box> cards;  // by finding, for clicks
};
[[nodiscard]] FindingsPanel draw_findings(const Session& session, int width, int height,
                                          const TextMeasure& measure);

// `fields` describe the selected row (analyzer::describe_row); empty = none is selected.
[[nodiscard]] Panel draw_details(const Session& session, const Fields& fields, int width,
                                 int height, const TextMeasure& measure);

[[nodiscard]] Panel draw_diagnostics(const Session& session, int width, int height,
                                     const TextMeasure& measure);

// Texts end before `room`: the tabs of the pages follow.
[[nodiscard]] DrawList draw_top_bar(const Session& session, int width, int height, int room,
                                    const TextMeasure& measure);

// `pending` says what is being done; "" = nothing.
[[nodiscard]] DrawList draw_status_bar(const Session& session, const std::string& pending,
                                       int width, int height, const TextMeasure& measure);

// In place of the timeline: an error with its hint, progress, or what to do with no run.
[[nodiscard]] DrawList draw_message(const std::string& title, const std::string& text,
                                    std::optional<double> progress, int width, int height,
                                    const TextMeasure& measure);

}  // namespace dprof::view
