// SPDX-License-Identifier: Apache-2.0
// A word above a page that chooses what it shows, or in which order.
#pragma once

#include <string_view>

#include "gui/view/drawing/draw_list.h"

namespace dprof::view {

inline constexpr int kChoiceGap = 6;  // between two of them

// Draws it from its top left on, and tells where a click means it.
Box draw_choice(Point at, std::string_view title, bool chosen, const TextMeasure& measure,
                DrawList& list);

}  // namespace dprof::view
