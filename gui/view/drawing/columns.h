// SPDX-License-Identifier: Apache-2.0
// Rows of cells with a header: the common part of the long tables.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "gui/view/drawing/draw_list.h"

namespace dprof::view {

struct Column {
  std::string_view title;
  int width = 0;        // with the gap to the next one
  bool number = false;  // right-aligned, in digits of one width
};

inline constexpr int kLineHeight = 22;

[[nodiscard]] int width_of(std::span<const Column> columns);

void draw_heads(std::span<const Column> columns, Point at, int height, DrawList& list);

// Cells that are too long are cut.
void draw_cell(const Column& column, Point at, std::string_view text, const TextMeasure& measure,
               DrawList& list, Role role = Role::kText);
// One cell per column.
void draw_cells(std::span<const Column> columns, Point at, std::span<const std::string> cells,
                const TextMeasure& measure, DrawList& list, Role role = Role::kText);

// The visible lines of a table, if lines begin at 0 and `top` is scrolled away.
struct LineRange {
  size_t first = 0;
  size_t end = 0;
};
[[nodiscard]] LineRange lines_in_view(size_t lines, int top, int height);

// The part of a box below a height: what a fixed header leaves visible of a line.
[[nodiscard]] Box below(Box box, int y);

}  // namespace dprof::view
