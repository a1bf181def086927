// SPDX-License-Identifier: Apache-2.0
// The panels beside the timeline, as draw lists: findings, details of the selection, diagnostics,
// the top bar and the status bar.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/first_look.h"
#include "gui/view/drawing/panel.h"
#include "gui/view/session/event_flow.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

// A card per finding, which links to it.
[[nodiscard]] Panel draw_findings(const Model& model, Selecting& selecting, int width, int height,
                                  const TextMeasure& measure);

// `fields` describe the selected row (analyzer::describe_row); empty = none is selected.
[[nodiscard]] Panel draw_details(const Model& model, const Selecting& selecting,
                                 const EventFlow& flow, const Fields& fields, int width, int height,
                                 const TextMeasure& measure);

[[nodiscard]] Panel draw_diagnostics(const Model& model, int width, int height,
                                     const TextMeasure& measure);

// `model`: nullptr = no run is open. Texts end before `room`, where the page tabs begin.
[[nodiscard]] DrawList draw_top_bar(const Model* model, int width, int height, int room,
                                    const TextMeasure& measure);

// `pending` describes the work in progress; "" = none.
[[nodiscard]] DrawList draw_status_bar(const Model* open, Interval range, const Layout& rows,
                                       const std::string& pending, int width, int height,
                                       const TextMeasure& measure);

// Instead of the timeline: an error with its hint, progress, or what to do without a run.
[[nodiscard]] DrawList draw_message(const std::string& title, const std::string& text,
                                    std::optional<double> progress, int width, int height,
                                    const TextMeasure& measure);

// While a run is opened: what is read, how far that is, and once it is known, the first look. What
// that says is marked as preliminary.
[[nodiscard]] DrawList draw_opening(const std::string& title, const std::string& stage,
                                    double progress, const analyzer::FirstLook* look, int width,
                                    int height, const TextMeasure& measure);

}  // namespace dprof::view
