// SPDX-License-Identifier: Apache-2.0
// The dock Path: why a step took as long as it did. Compares its critical path with the median
// step's, by category, rank and name, and lists where it continued on another rank.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/shown_path.h"

namespace dprof::view {

[[nodiscard]] Panel draw_path_dock(const Model& model, ShownPath& path, Selecting& selecting,
                                   int width, int height, const TextMeasure& measure);

}  // namespace dprof::view
