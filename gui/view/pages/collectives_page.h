// SPDX-License-Identifier: Apache-2.0
// The page Collectives: a line per collective, over all ranks: who came last, how long the others
// waited, how long the transfer took.
//
// Cost  of a frame depends on the visible lines; the lines are sorted once per order.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/page_figures.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

// The visible part when the content is scrolled down to `top`. Each line is a link.
[[nodiscard]] Panel draw_collectives(const Model& model, CollectiveFigures& figures,
                                     Selecting& selecting, int width, int height, int top,
                                     const TextMeasure& measure);

}  // namespace dprof::view
