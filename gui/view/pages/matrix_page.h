// SPDX-License-Identifier: Apache-2.0
// The page Matrix: who sends to whom, and who waits for whom, as a map of ranks against ranks with
// the most expensive pairs beside it.
#pragma once

#include "gui/view/drawing/choice.h"
#include "gui/view/drawing/panel.h"
#include "gui/view/session/page_figures.h"

namespace dprof::view {

// A click on a pair selects both ranks and the collective or message that counts most in it. `top`:
// how far the page is scrolled. In a report it ends at its full height.
[[nodiscard]] Panel draw_matrix_page(const Model& model, PairFigures& figures,
                                     const Selection& selection, int width, int height, int top,
                                     const TextMeasure& measure, PageUse use = PageUse::kWindow);

}  // namespace dprof::view
