// SPDX-License-Identifier: Apache-2.0
// The page Compare: this run and another one, where a mean step goes in each and what the events of
// each name cost. The figures are the analyser's (analyzer/compare); nothing is judged.
//
// Cost  a frame follows the lines in view.
#pragma once

#include <memory>

#include "gui/view/drawing/panel.h"
#include "gui/view/session/page_figures.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

// `events` are those of all ranks of `run`; `other` has its own. O(events of both).
[[nodiscard]] std::shared_ptr<const ComparedRuns> compare_models(const Model& run,
                                                                 const RunEvents& events,
                                                                 const Model& other);

// A line of a name is a link to its events in this run.
// `runs`: nullptr = no other run is open.
[[nodiscard]] Panel draw_compare_page(const Model& model, const ComparedRuns* runs,
                                      Selecting& selecting, int width, int height, int top,
                                      const TextMeasure& measure);

}  // namespace dprof::view
