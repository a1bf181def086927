// SPDX-License-Identifier: Apache-2.0
// The page What if.
#include "gui/view/pages/what_if_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/model/test_support/path_model.h"
#include "gui/view/model/test_support/test_model.h"
#include "gui/view/session/session.h"

namespace dprof::view {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class WhatIfPageTest : public ::testing::Test {
 protected:
  WhatIfPageTest() {
    session.open(test::path_model());
    session.viewport.show_page(Page::kWhatIf);
  }
  [[nodiscard]] Panel page(int top = 0) {
    return draw_what_if_page(session.model(), session.what_if, 1400, 700, top, measure);
  }
  [[nodiscard]] std::string text() { return to_text(page().list); }
  [[nodiscard]] static std::optional<Box> box_of(const Panel& panel, std::string_view words) {
    for (const Command& command : panel.list.commands()) {
      if (command.kind == CommandKind::kText && panel.list.text_of(command) == words)
        return command.box;
    }
    return std::nullopt;
  }
  // The text that a click on these words copies; nullopt = not clickable.
  std::optional<std::string> click(std::string_view words) {
    const Panel drawn = page();
    const auto box = box_of(drawn, words);
    if (!box) return std::nullopt;
    for (const Link& link : drawn.links) {
      if (!link.box.contains(box->x + 1, box->y + box->h / 2)) continue;
      link.follow();
      return link.copies;
    }
    return std::nullopt;
  }
  // Moves the slider on the line with that label to a share of its range.
  bool slide(std::string_view label, double share) {
    const Panel drawn = page();
    const auto box = box_of(drawn, label);
    if (!box) return false;
    for (const Slider& slider : drawn.sliders) {
      if (!slider.area.contains(slider.area.x, box->y + box->h / 2)) continue;
      slider.set(slider.area.x + static_cast<int>(share * slider.area.w));
      return true;
    }
    return false;
  }
  FixedTextMeasure measure;
  Session session;
};

TEST_F(WhatIfPageTest, NothingIsPredictedUntilSomethingIsChanged) {
  EXPECT_THAT(text(), HasSubstr("recorded"));
  EXPECT_THAT(text(), Not(HasSubstr("less per step")));
  EXPECT_THAT(text(), HasSubstr("Move a slider"));
}

TEST_F(WhatIfPageTest, ASliderAsksAndTheAnswerIsBesideTheRecordedStep) {
  ASSERT_TRUE(slide("transfers", 1));
  EXPECT_THAT(session.what_if.changes(), ElementsAre("transfer=0"));
  EXPECT_THAT(text(), HasSubstr("4.00 ms less per step"));
  EXPECT_THAT(text(), HasSubstr("It rests on"));
  ASSERT_TRUE(slide("transfers", 0.5));
  EXPECT_THAT(session.what_if.changes(), ElementsAre("transfer*0.5"));
  EXPECT_THAT(text(), HasSubstr("2.00 ms less per step"));
  ASSERT_TRUE(slide("transfers", 0));
  EXPECT_THAT(session.what_if.changes(), IsEmpty());
}

TEST_F(WhatIfPageTest, WhatTheRunCannotAnswerHasItsReasonInsteadOfASlider) {
  EXPECT_FALSE(slide("wait for data", 1));
  EXPECT_THAT(text(), HasSubstr("no step waits for data"));
  EXPECT_FALSE(slide("latency", 1));
  EXPECT_THAT(text(), HasSubstr("no GPU activity was recorded"));
}

TEST_F(WhatIfPageTest, TheBestOfTheCatalogueAreClickedInAndOut) {
  const auto& best = session.model().report.replay->whatif;
  ASSERT_FALSE(best.empty());
  const std::string first = best.front().change;
  ASSERT_TRUE(click(first));
  EXPECT_THAT(session.what_if.changes(), ElementsAre(first));
  ASSERT_TRUE(slide("transfers", 1));
  EXPECT_EQ(session.what_if.changes().size(), 2U) << "together";
  ASSERT_TRUE(click("all as recorded"));
  EXPECT_THAT(session.what_if.changes(), IsEmpty());
}

TEST_F(WhatIfPageTest, TheQuestionIsCopiedAsACommandLine) {
  session.what_if.change({"transfer*0.5", "rank:1=peers"});
  EXPECT_EQ(
      click("copy as command line"),
      "dprof report 'runs/my job' --what-if 'transfer*0.5' --what-if rank:1=peers --sections what-if");
  ASSERT_EQ(click("transfer*0.5"), "") << "a click takes it back";
  EXPECT_THAT(session.what_if.changes(), ElementsAre("rank:1=peers"));
}

// The header stays on top, and what is scrolled below it cannot be clicked through it.
TEST_F(WhatIfPageTest, TheAnswerStaysInView) {
  session.what_if.change({"transfer=0"});
  constexpr int kTop = 300;
  const Panel scrolled = page(kTop);
  const auto box = box_of(scrolled, "recorded");
  ASSERT_TRUE(box);
  EXPECT_GE(box->y, kTop);
  const auto copy = box_of(scrolled, "copy as command line");
  ASSERT_TRUE(copy);
  for (const Slider& slider : scrolled.sliders)
    EXPECT_FALSE(slider.area.contains(slider.area.x, copy->y + 4));
}

TEST_F(WhatIfPageTest, ARunThatCannotBeReplayedSaysWhy) {
  session.open(test::path_model(false));
  EXPECT_THAT(text(), HasSubstr("it misses the held-out steps by 12 %"));
  EXPECT_TRUE(page().sliders.empty());
  session.open(test::shared_small_model());
  EXPECT_THAT(text(), HasSubstr("This run could not be replayed"));
}

TEST_F(WhatIfPageTest, ItFitsNarrowPages) {
  session.what_if.change({"transfer=0"});
  for (const int width : {700, 900, 1100}) {
    const Panel narrow =
        draw_what_if_page(session.model(), session.what_if, width, 500, 0, measure);
    EXPECT_GT(narrow.height, 500) << "it scrolls";
    for (const Slider& slider : narrow.sliders) EXPECT_LE(slider.area.x + slider.area.w, width);
    for (const Link& link : narrow.links) EXPECT_LE(link.box.x + link.box.w, width) << width;
  }
}

}  // namespace
}  // namespace dprof::view
