// SPDX-License-Identifier: Apache-2.0
// The page Memory: what each rank held over the run and at its peak, all ranks on one scale, and
// what was allocated at the peak of the selected one. The figures are the report's.
#pragma once

#include "gui/view/drawing/choice.h"
#include "gui/view/drawing/panel.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

// A rank's line links to it, a step in its curve to that step. In a report: only the curves and
// peaks.
[[nodiscard]] Panel draw_memory_page(const Model& model, const Viewport& viewport,
                                     Selecting& selecting, int width, int height, int top,
                                     const TextMeasure& measure, PageUse use = PageUse::kWindow);

}  // namespace dprof::view
