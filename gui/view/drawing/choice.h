// SPDX-License-Identifier: Apache-2.0
// A word above a page that chooses what it shows, or the order.
#pragma once

#include <cstdint>
#include <string_view>

#include "gui/view/drawing/draw_list.h"

namespace dprof::view {

// The place of a page. In a report there are no clicks, and texts are beside the picture.
enum class PageUse : uint8_t { kWindow, kReport };

inline constexpr int kChoiceGap = 6;  // between two of them

// Draws it from its top left on, and registers its click.
Box draw_choice(Point at, std::string_view title, bool chosen, const TextMeasure& measure,
                DrawList& list);

}  // namespace dprof::view
