// SPDX-License-Identifier: Apache-2.0
// A word above a page that chooses what it shows, or in which order.
#pragma once

#include <cstdint>
#include <string_view>

#include "gui/view/drawing/draw_list.h"

namespace dprof::view {

// Where a page is shown. In a report there is nothing to click, and what is text stands beside it.
enum class PageUse : uint8_t { kWindow, kReport };

inline constexpr int kChoiceGap = 6;  // between two of them

// Draws it from its top left on, and tells where a click means it.
Box draw_choice(Point at, std::string_view title, bool chosen, const TextMeasure& measure,
                DrawList& list);

}  // namespace dprof::view
