// SPDX-License-Identifier: Apache-2.0
// The dock SQL below its field: which ranks it queries, the last result as a table, and the error
// in a statement.
//
// Cost  of a frame depends on the visible lines.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/sql_results.h"

namespace dprof::view {

// The visible part when the content is scrolled down to `top`.
[[nodiscard]] Panel draw_sql_dock(SqlConsole& sql, SqlResults& results, const Selection& selection,
                                  int width, int height, int top, const TextMeasure& measure);

// The position of a line of the result in the content.
[[nodiscard]] Box box_of_result_line(const SqlConsole& sql, size_t line);

}  // namespace dprof::view
