// SPDX-License-Identifier: Apache-2.0
#include "gui/html/svg.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace dprof::html {
namespace {

using testing::HasSubstr;
using testing::Not;
using view::DrawList;
using view::Role;

std::string inside_of(const DrawList& list) {
  const std::string svg = to_svg(list, {0, 0, 100, 50}, "a picture");
  const size_t begin = svg.find('>') + 1;
  return svg.substr(begin, svg.size() - begin - std::string_view("</svg>").size());
}

TEST(SvgTest, ShowsThePartThatIsSeenAndSaysWhatItIs) {
  EXPECT_EQ(to_svg({}, {0, 20, 100, 50}, "a < b"),
            "<svg class=\"picture\" viewBox=\"0 20 100 50\" style=\"max-width:100px\" role=\"img\" "
            "aria-label=\"a &lt; b\"></svg>");
}

TEST(SvgTest, BoxesOfOneLookAreOnePath) {
  DrawList list;
  list.rect({1, 2, 3, 4}, Role::kCard);
  list.rect({5, 2, 3, 4}, Role::kCard);
  list.rect({9, 2, 0, 4}, Role::kCard);  // nothing
  list.rect({9, 2, 3, 4}, Role::kCard, {}, 51);
  list.hatch({1, 2, 3, 4}, view::role_of(analyzer::Category::kExposedWait));
  const int card = static_cast<int>(Role::kCard);
  const int wait = static_cast<int>(analyzer::Category::kExposedWait);
  EXPECT_EQ(inside_of(list),
            fmt::format("<path class=\"f{0}\" d=\"M1 2h3v4h-3zM5 2h3v4h-3z\"/>"
                        "<path class=\"f{0}\" opacity=\"0.80\" d=\"M9 2h3v4h-3z\"/>"
                        "<path class=\"h{1}\" d=\"M1 2h3v4h-3z\"/>",
                        card, wait));
}

TEST(SvgTest, TextsAreEscapedAndNeverTooFaintToRead) {
  DrawList list;
  list.text({10, 0, 80, 20}, "<script>alert(1)</script>",
            {.role = Role::kTextFaint, .font = view::Font::kSmall, .align = view::Align::kRight});
  EXPECT_EQ(inside_of(list), fmt::format("<text class=\"t{} g2 e\" x=\"90\" y=\"14.3\">"
                                         "&lt;script&gt;alert(1)&lt;/script&gt;</text>",
                                         static_cast<int>(Role::kTextDim)));
}

TEST(SvgTest, ClipsEndWithTheList) {
  DrawList list;
  list.clip({1, 2, 3, 4});
  list.unclip();
  list.unclip();  // one too many
  list.clip({5, 6, 7, 8});
  EXPECT_EQ(inside_of(list),
            "<svg x=\"1\" y=\"2\" width=\"3\" height=\"4\" viewBox=\"1 2 3 4\"></svg>"
            "<svg x=\"5\" y=\"6\" width=\"7\" height=\"8\" viewBox=\"5 6 7 8\"></svg>");
}

TEST(SvgTest, AnImageIsAMaskOfItsRole) {
  DrawList list;
  const std::array<uint8_t, 2> levels = {0, 255};
  list.image({3, 4, 2, 1}, levels, Role::kProblem);
  list.image({3, 4, 2, 2}, levels, Role::kProblem);  // levels are missing
  const std::string svg = inside_of(list);
  EXPECT_THAT(svg, HasSubstr("<mask id=\"m"));
  EXPECT_THAT(svg, HasSubstr("href=\"data:image/png;base64,iVBORw0KGgo"));
  EXPECT_THAT(svg, HasSubstr(fmt::format("<rect class=\"f{}\" x=\"3\" y=\"4\" width=\"2\" "
                                         "height=\"1\" mask=\"url(#m",
                                         static_cast<int>(Role::kProblem))));
  EXPECT_THAT(svg, Not(HasSubstr("height=\"2\"")));
}

TEST(SvgTest, LettersAreMeasuredAndNotBytes) {
  const PageTextMeasure measure;
  EXPECT_EQ(measure.width("", view::Font::kBody), 0);
  EXPECT_LT(measure.width("iii", view::Font::kBody), measure.width("mmm", view::Font::kBody));
  EXPECT_LT(measure.width("rank 5", view::Font::kBody), measure.width("rank 5", view::Font::kBold));
  EXPECT_EQ(measure.width("ab", view::Font::kMono), measure.width("a\u2026", view::Font::kMono));
}

}  // namespace
}  // namespace dprof::html
