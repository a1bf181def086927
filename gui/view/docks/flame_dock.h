// SPDX-License-Identifier: Apache-2.0
// The dock Flame: the selection's time by stacks. A click on a node chooses its name.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/event_figures.h"

namespace dprof::view {

[[nodiscard]] Panel draw_flame_dock(const Model& model, EventFigures& events, Selecting& selecting,
                                    int width, int height, const TextMeasure& measure);

}  // namespace dprof::view
