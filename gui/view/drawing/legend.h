// SPDX-License-Identifier: Apache-2.0
// The legend of a map's colours: the lowest and the highest time, with the ramp between them.
#pragma once

#include <cstdint>

#include "gui/view/drawing/draw_list.h"

namespace dprof::view {

// The times at the ends of the ramp, and the strength of the highest one's colour.
struct Ramp {
  int64_t low_ns = 0;
  int64_t high_ns = 0;
  Role role{};
  double strongest = 1;
};

// Ends at `right`; omitted if it would begin before `left`, or if all values are equal.
void draw_legend(const Ramp& ramp, int left, int right, int top, const TextMeasure& measure,
                 DrawList& list);

}  // namespace dprof::view
