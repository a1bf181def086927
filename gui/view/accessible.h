// SPDX-License-Identifier: Apache-2.0
// The timeline in words, for people who cannot see it: a name and a value for each row.
#pragma once

#include <string>

#include "gui/view/drawing/draw_list.h"
#include "gui/view/model/selection.h"
#include "gui/view/timeline/rows_area.h"

namespace dprof::view {

struct AccessibleRow {
  std::string name;  // "rank 3, stream 7"
  Box box;           // visible part of the rows' area, as scrolled
  bool in_view = false;
  bool selected = false;
};

// The row at that index of the layout.
[[nodiscard]] AccessibleRow accessible_row(const RowsArea& area, const Selection& selection,
                                           size_t index, int width);
// "124 events, 38 % busy in view". O(events of the row in view): only computed on request.
[[nodiscard]] std::string accessible_value(const RowsArea& area, size_t index);

}  // namespace dprof::view
