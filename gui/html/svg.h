// SPDX-License-Identifier: Apache-2.0
// Draw lists as pictures in a page of HTML: what gui/widgets plays onto a QPainter, as SVG. Roles
// are classes, to which the page's style (page.h) gives the colours of the light or dark theme.
#pragma once

#include <string>
#include <string_view>

#include "gui/view/drawing/draw_list.h"

namespace dprof::html {

// Widths of the fonts that a page asks for; rather more than less, since the reader may have
// others.
class PageTextMeasure final : public view::TextMeasure {
 public:
  [[nodiscard]] int width(std::string_view text, view::Font font) const override;
};

// The part of the list that lies in `seen`. `about`: what a screen reader says of it. Texts in it
// are escaped. O(commands + pixels of images).
[[nodiscard]] std::string to_svg(const view::DrawList& list, view::Box seen,
                                 std::string_view about);

// For the page's style: `--r0:#56b4e9; …` of a theme's roles, and the classes that to_svg uses.
[[nodiscard]] std::string role_colours(const view::Theme& theme);
[[nodiscard]] std::string role_classes();
// Once in a page: the hatches that pictures refer to.
[[nodiscard]] std::string shared_patterns();

}  // namespace dprof::html
