// SPDX-License-Identifier: Apache-2.0
// What a row tells of its own recording: records that are missing, and an end that was none.
#pragma once

#include <string>
#include <vector>

#include "gui/view/drawing/draw_list.h"
#include "gui/view/timeline/rows_area.h"

namespace dprof::view {

// Below the row's slices: hatched where records are missing, of a rank under its bar. `y`: of the
// row on the screen.
void draw_losses(const RowsArea& area, const Row& row, int y, DrawList& list);

// Above them: how many, where the first of them is and there is room for words; and where the
// process was killed or the recording broke off.
void draw_row_marks(const RowsArea& area, const Row& row, int y, int width,
                    const TextMeasure& measure, DrawList& list);

// "28 records lost: ring full", of what is missing around the moment under the mouse.
[[nodiscard]] std::vector<std::string> losses_at(const RowsArea& area, const Hover& hover);

}  // namespace dprof::view
