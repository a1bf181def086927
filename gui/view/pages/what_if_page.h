// SPDX-License-Identifier: Apache-2.0
// The page What if: sliders and words that change the run, and the predicted step beside the
// recorded one.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/what_if_questions.h"

namespace dprof::view {

// The visible part when the content is scrolled down to `top`; the answer stays on top.
[[nodiscard]] Panel draw_what_if_page(const Model& model, WhatIfQuestions& questions, int width,
                                      int height, int top, const TextMeasure& measure);

}  // namespace dprof::view
