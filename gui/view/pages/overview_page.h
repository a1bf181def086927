// SPDX-License-Identifier: Apache-2.0
// The page Overview: where a mean step goes, over all ranks and rank by rank; the report's figures.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

// The line of a rank links to it.
[[nodiscard]] Panel draw_overview_page(const Model& model, Selecting& selecting, int width,
                                       int height, const TextMeasure& measure);

}  // namespace dprof::view
