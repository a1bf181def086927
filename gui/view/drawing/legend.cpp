// SPDX-License-Identifier: Apache-2.0
#include "gui/view/drawing/legend.h"

#include <string>
#include <vector>

#include "base/format.h"
#include "gui/view/drawing/grid.h"

namespace dprof::view {

void draw_legend(const Ramp& ramp, int left, int right, int top, const TextMeasure& measure,
                 DrawList& list) {
  constexpr int kHeight = 26;
  constexpr int kRampWidth = 96;
  constexpr int kRampHeight = 10;
  constexpr int kGap = 8;
  if (ramp.high_ns <= ramp.low_ns) return;
  std::string low = format_ms({ramp.low_ns});
  if (ramp.low_ns > 0) low.insert(0, "≤ ");
  const std::string high = format_ms({ramp.high_ns});
  const int high_width = measure.width(high, Font::kSmall) + kGap;
  const int low_width = measure.width(low, Font::kSmall) + kGap;
  const int begin = right - high_width - kRampWidth - low_width;
  if (begin < left) return;
  const TextStyle style{.role = Role::kTextDim, .font = Font::kSmall};
  list.text({begin, top, low_width, kHeight}, low, style);
  std::vector<uint8_t> levels;
  for (int row = 0; row < kRampHeight; ++row) {
    for (int i = 0; i < kRampWidth; ++i)
      levels.push_back(level_of_share(ramp.strongest * i / (kRampWidth - 1)));
  }
  list.image({begin + low_width, top + (kHeight - kRampHeight) / 2, kRampWidth, kRampHeight},
             levels, ramp.role);
  list.text({right - high_width + kGap, top, high_width, kHeight}, high, style);
}

}  // namespace dprof::view
