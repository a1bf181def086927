// SPDX-License-Identifier: Apache-2.0
#include "gui/html/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/drawing/theme.h"

namespace dprof::html {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PageTest, AsksForNothingAndEscapesItsTitle) {
  const std::string page = page_of("<b> & co", "<p>body</p>");
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("<title>&lt;b&gt; &amp; co</title>"));
  EXPECT_THAT(page, HasSubstr("<p>body</p>"));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr("src=\"")));
}

TEST(PageTest, ASectionIsThereIfItSaysSomething) {
  EXPECT_EQ(section_of("ranks", {}), "");
  EXPECT_EQ(section_of("ranks", {{analyzer::Heading{.title = "RANKS"}}}),
            "<section id=\"ranks\">\n<h2>Ranks</h2>\n</section>\n");
}

// Text has these colours, on these backgrounds.
TEST(PageTest, TextCanBeReadInBothThemes) {
  using enum view::Role;
  for (const view::Theme* theme : {&view::light_theme(), &view::dark_theme()}) {
    for (const view::Role text : {kText, kTextDim, kAccent, kProblem, kWarnText, kInfoText}) {
      for (const view::Role ground : {kWindow, kCanvas, kCard, kLaneBackground})
        EXPECT_GE(view::contrast(theme->of(text), theme->of(ground)), 4.5)
            << theme->name << ": " << view::word_of(text) << " on " << view::word_of(ground);
    }
  }
}

}  // namespace
}  // namespace dprof::html
