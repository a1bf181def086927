// SPDX-License-Identifier: Apache-2.0
// The page Collectives: a line per collective, over all ranks: who came last, how long the others
// waited, how long data moved.
//
// Cost  a frame follows the lines in view; the lines are sorted once per order.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/session.h"

namespace dprof::view {

// What is in view when the content is scrolled down to `top`. Each line is a link.
[[nodiscard]] Panel draw_collectives(const Session& session, int width, int height, int top,
                                     const TextMeasure& measure);

}  // namespace dprof::view
