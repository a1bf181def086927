// SPDX-License-Identifier: Apache-2.0
// The notable ranks by name, above every page of a run of many ranks.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

inline constexpr int kNotableStripHeight = 34;

// A click selects the rank. Empty if each rank has a line of its own.
[[nodiscard]] Panel draw_notable_strip(const Model& model, Selecting& selecting, int width,
                                       const TextMeasure& measure);

}  // namespace dprof::view
