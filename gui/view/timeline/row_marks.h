// SPDX-License-Identifier: Apache-2.0
// A row's marks about its own recording: missing records, and abnormal ends.
#pragma once

#include <string>
#include <vector>

#include "gui/view/drawing/draw_list.h"
#include "gui/view/timeline/rows_area.h"

namespace dprof::view {

// Below the row's slices: hatches where records are missing; for a rank under its bar. `y`: of the
// row on the screen.
void draw_losses(const RowsArea& area, const Row& row, int y, DrawList& list);

// Over the slices: the number of missing records, at the first loss with room for words; and the
// place where the process was killed or the recording stopped.
void draw_row_marks(const RowsArea& area, const Row& row, int y, int width,
                    const TextMeasure& measure, DrawList& list);

// "28 records lost: ring full", about the losses around the moment under the mouse.
[[nodiscard]] std::vector<std::string> losses_at(const RowsArea& area, const Hover& hover);

}  // namespace dprof::view
