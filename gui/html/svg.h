// SPDX-License-Identifier: Apache-2.0
// Draw lists as pictures in an HTML page: the SVG counterpart of gui/widgets' QPainter. Roles are
// classes, coloured by the page's style (page.h) for the light or dark theme.
#pragma once

#include <string>
#include <string_view>

#include "gui/view/drawing/draw_list.h"

namespace dprof::html {

// Widths of the page's fonts; rather too large than too small, since the reader may have other
// fonts.
class PageTextMeasure final : public view::TextMeasure {
 public:
  [[nodiscard]] int width(std::string_view text, view::Font font) const override;
};

// Draws the part of the list inside `seen`. `about`: text for screen readers. Texts in it are
// escaped. O(commands + pixels of images).
[[nodiscard]] std::string to_svg(const view::DrawList& list, view::Box seen,
                                 std::string_view about);

// For the page's style: `--r0:#56b4e9; …` for a theme's roles, and the classes that to_svg uses.
[[nodiscard]] std::string role_colours(const view::Theme& theme);
[[nodiscard]] std::string role_classes();
// Once per page: the hatches to which pictures refer.
[[nodiscard]] std::string shared_patterns();

}  // namespace dprof::html
