// SPDX-License-Identifier: Apache-2.0
#include "gui/view/drawing/columns.h"

#include <algorithm>

#include "gui/view/drawing/texts.h"

namespace dprof::view {
namespace {

constexpr int kColumnGap = 12;

}  // namespace

int width_of(std::span<const Column> columns) {
  int width = 0;
  for (const Column& column : columns) width += column.width;
  return width;
}

void draw_heads(std::span<const Column> columns, Point at, int height, DrawList& list) {
  for (const Column& column : columns) {
    list.text({at.x, at.y, column.width - kColumnGap, height},
              std::string(translated(column.title)),
              {.role = Role::kTextDim,
               .font = Font::kSmall,
               .align = column.number ? Align::kRight : Align::kLeft});
    at.x += column.width;
  }
}

void draw_cell(const Column& column, Point at, std::string_view text, const TextMeasure& measure,
               DrawList& list, Role role) {
  const int room = column.width - kColumnGap;
  const Font font = column.number ? Font::kMono : Font::kBody;
  list.text({at.x, at.y, room, kLineHeight}, elided(text, room, font, measure),
            {.role = role, .font = font, .align = column.number ? Align::kRight : Align::kLeft});
}

void draw_cells(std::span<const Column> columns, Point at, std::span<const std::string> cells,
                const TextMeasure& measure, DrawList& list, Role role) {
  for (size_t c = 0; c < std::min(columns.size(), cells.size()); ++c) {
    draw_cell(columns[c], at, cells[c], measure, list, role);
    at.x += columns[c].width;
  }
}

LineRange lines_in_view(size_t lines, int top, int height) {
  const auto first = static_cast<size_t>(std::max(0, top / kLineHeight));
  return {std::min(first, lines),
          std::min(lines, first + static_cast<size_t>(height / kLineHeight) + 2)};
}

Box below(Box box, int y) {
  const int cut = std::clamp(y - box.y, 0, box.h);
  return {box.x, box.y + cut, box.w, box.h - cut};
}

}  // namespace dprof::view
