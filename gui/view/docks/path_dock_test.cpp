// SPDX-License-Identifier: Apache-2.0
// Why a step is long.
#include "gui/view/docks/path_dock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/model/test_support/path_model.h"
#include "gui/view/model/test_support/test_model.h"
#include "gui/view/session/session.h"

namespace dprof::view {
namespace {

using test::kLongStep;
using ::testing::HasSubstr;
using ::testing::Not;

class PathDockTest : public ::testing::Test {
 protected:
  PathDockTest() { session.open(test::path_model()); }
  [[nodiscard]] Panel dock() {
    return draw_path_dock(session.model(), session.path, session.selecting, 380, 700, measure);
  }
  [[nodiscard]] std::string text() { return to_text(dock().list); }
  bool click(std::string_view begin) {
    const Panel drawn = dock();
    for (const Command& command : drawn.list.commands()) {
      if (command.kind != CommandKind::kText || !drawn.list.text_of(command).starts_with(begin))
        continue;
      for (const Link& link : drawn.links) {
        if (!link.box.contains(command.box.x + 1, command.box.y + command.box.h / 2)) continue;
        link.follow();
        return true;
      }
    }
    return false;
  }
  FixedTextMeasure measure;
  Session session;
};

TEST_F(PathDockTest, ALongStepIsComparedWithTheMedian) {
  ASSERT_TRUE(session.explain_step(kLongStep).ok());
  EXPECT_THAT(text(), HasSubstr("Step 8: 44.0 ms"));
  EXPECT_THAT(text(), HasSubstr("14.0 ms longer than the median step (30.0 ms)"));
  EXPECT_THAT(text(), HasSubstr("+40.0 ms")) << "rank 2 is usually not on the path";
  EXPECT_THAT(text(), HasSubstr("−26.0 ms")) << "rank 1 usually is";
  EXPECT_THAT(text(), HasSubstr("+14.0 ms")) << "more forward";
  EXPECT_THAT(text(), HasSubstr("1 hand-over"));
}

TEST_F(PathDockTest, AUsualStepIsSaidToBeUsual) {
  ASSERT_TRUE(session.explain_step(5).ok());
  EXPECT_THAT(text(), HasSubstr("as long as the median step"));
  EXPECT_THAT(text(), Not(HasSubstr("longer")));
}

TEST_F(PathDockTest, RanksAndHandOversAreLinks) {
  ASSERT_TRUE(session.explain_step(kLongStep).ok());
  ASSERT_TRUE(click("rank 2"));
  EXPECT_TRUE(session.selecting.selection().has_rank(2));
  const Interval before = session.viewport.range();
  ASSERT_TRUE(click("rank 2 →"));
  EXPECT_LT(session.viewport.range().length(), before.length());
}

TEST_F(PathDockTest, WhatCannotBeSaidHasAReason) {
  session.selecting.select_step(0);
  EXPECT_THAT(text(), HasSubstr("This step has no critical path"));
  session.open(test::shared_small_model());
  EXPECT_THAT(text(), HasSubstr("The run has no critical path"));
  session.open(test::path_model(false));
  ASSERT_TRUE(session.explain_step(kLongStep).ok());
  EXPECT_THAT(text(), HasSubstr("hint"));
}

}  // namespace
}  // namespace dprof::view
