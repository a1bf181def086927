// SPDX-License-Identifier: Apache-2.0
// The page Topology: the ranks in the grid that their communicators form, tensor × data × pipeline,
// coloured by their waits; and how long each communicator of the grid is waited in.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/page_figures.h"

namespace dprof::view {

// A click on a cell selects its rank, on a communicator its ranks.
[[nodiscard]] Panel draw_topology_page(const Model& model, GridFigures& figures,
                                       Selecting& selecting, int width, int height,
                                       const TextMeasure& measure);

}  // namespace dprof::view
