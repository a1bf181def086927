// SPDX-License-Identifier: Apache-2.0
// The dock Histogram: how long the events of one name take, and on which ranks they take longer. A
// click on a bar selects its longest event.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/event_figures.h"

namespace dprof::view {

[[nodiscard]] Panel draw_histogram_dock(const Model& model, const EventFigures& events,
                                        Selecting& selecting, int width, int height,
                                        const TextMeasure& measure);

}  // namespace dprof::view
