// SPDX-License-Identifier: Apache-2.0
// The dock Info: what was recorded, where, with which settings, and how the hosts' clocks agree.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/notes.h"

namespace dprof::view {

[[nodiscard]] Panel draw_info_dock(const Model& model, Notes& notes, int width, int height,
                                   const TextMeasure& measure);

}  // namespace dprof::view
