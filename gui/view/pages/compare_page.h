// SPDX-License-Identifier: Apache-2.0
// The page Compare: this run and another one. The answer, its words and figures are those of
// `dprof diff` (analyzer/diff); below it a step of each on one scale, and what the events of each
// name cost (analyzer/compare).
//
// Cost  a frame follows the lines in view.
#pragma once

#include <memory>

#include "gui/view/drawing/panel.h"
#include "gui/view/session/page_figures.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

// `events` are those of all ranks of `run`; `other` has its own. O(events of both), and both
// reports are written and read as JSON.
[[nodiscard]] std::shared_ptr<const ComparedRuns> compare_models(const Model& run,
                                                                 const RunEvents& events,
                                                                 const Model& other);

// A line of a name is a link to its events in this run.
// `runs`: nullptr = no other run is open.
[[nodiscard]] Panel draw_compare_page(const Model& model, const ComparedRuns* runs,
                                      Selecting& selecting, int width, int height, int top,
                                      const TextMeasure& measure);

}  // namespace dprof::view
