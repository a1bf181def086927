// SPDX-License-Identifier: Apache-2.0
#include "gui/view/drawing/choice.h"

namespace dprof::view {

Box draw_choice(Point at, std::string_view title, bool chosen, const TextMeasure& measure,
                DrawList& list) {
  constexpr int kHeight = 26;
  const Box box{at.x, at.y, measure.width(title, Font::kSmall) + 20, kHeight};
  list.rect(box, chosen ? Role::kAccentSoft : Role::kWindow, {}, 0, 6);
  list.text(box, std::string(title),
            {.role = chosen ? Role::kAccent : Role::kTextDim,
             .font = chosen ? Font::kBold : Font::kSmall,
             .align = Align::kCentre});
  return box;
}

}  // namespace dprof::view
