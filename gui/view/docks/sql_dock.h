// SPDX-License-Identifier: Apache-2.0
// The dock SQL below its field: whom it asks, the last result as a table, and what was wrong with a
// statement.
//
// Cost  a frame follows the lines in view.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/sql_results.h"

namespace dprof::view {

// What is in view when the content is scrolled down to `top`.
[[nodiscard]] Panel draw_sql_dock(SqlConsole& sql, SqlResults& results, const Selection& selection,
                                  int width, int height, int top, const TextMeasure& measure);

// Where a line of the result is in the content.
[[nodiscard]] Box box_of_result_line(const SqlConsole& sql, size_t line);

}  // namespace dprof::view
