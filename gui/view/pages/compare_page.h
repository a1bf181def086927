// SPDX-License-Identifier: Apache-2.0
// The page Compare: this run and another one. The answer, its words and figures are those of `dprof
// diff` (analyzer/diff); below it are a step of each on one scale, and the cost of each name's
// events (analyzer/compare).
//
// Cost  of a frame depends on the visible lines.
#pragma once

#include <memory>

#include "gui/view/drawing/panel.h"
#include "gui/view/session/page_figures.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

// `events` are those of all ranks of `run`; `other` has its own. O(events of both); also writes and
// reads both reports as JSON.
[[nodiscard]] std::shared_ptr<const ComparedRuns> compare_models(const Model& run,
                                                                 const RunEvents& events,
                                                                 const Model& other);

// The line of a name links to its events in this run.
// `runs`: nullptr = no other run is open.
[[nodiscard]] Panel draw_compare_page(const Model& model, const ComparedRuns* runs,
                                      Selecting& selecting, int width, int height, int top,
                                      const TextMeasure& measure);

}  // namespace dprof::view
