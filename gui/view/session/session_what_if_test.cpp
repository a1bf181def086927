// SPDX-License-Identifier: Apache-2.0
// Questions to the run, and why a step is long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/model/test_support/path_model.h"
#include "gui/view/model/test_support/test_model.h"
#include "gui/view/session/session.h"

namespace dprof::view {
namespace {

using test::kJobMs;
using test::kLongStep;
using ::testing::ElementsAre;

class SessionWhatIfTest : public ::testing::Test {
 protected:
  SessionWhatIfTest() {
    session.viewport.resize(1200, 600);
    session.open(test::path_model());
  }
  Session session;
};

TEST_F(SessionWhatIfTest, WhyShowsTheStepItsPathAndTheDock) {
  session.viewport.show_page(Page::kOverview);
  ASSERT_TRUE(session.explain_step(kLongStep).ok());
  EXPECT_EQ(session.viewport.page(), Page::kTimeline);
  EXPECT_EQ(session.dock, Dock::kPath);
  EXPECT_TRUE(session.path.is_shown());
  EXPECT_EQ(session.selecting.selection().step, kLongStep);
  const Interval window = session.model().steps[*session.model().index_of_step(kLongStep)].window;
  EXPECT_LE(session.viewport.range().begin, window.begin);
  EXPECT_GE(session.viewport.range().end, window.end);
  EXPECT_LT(session.viewport.range().length(), window.length() + window.length());
  session.viewport.back();
  EXPECT_EQ(session.viewport.page(), Page::kOverview)
      << "one step back leads to where it was asked";
}

TEST_F(SessionWhatIfTest, WithoutANumberItIsTheSelectedStepOrTheOneInTheMiddle) {
  session.selecting.clear();
  const Interval window = session.model().steps[10].window;
  session.viewport.show(window);
  ASSERT_TRUE(session.explain_step().ok());
  EXPECT_EQ(session.selecting.selection().step, 10);
}

TEST_F(SessionWhatIfTest, StepsWithoutAPathAreRefusedAndNothingMoves) {
  const Interval before = session.viewport.range();
  EXPECT_FALSE(session.explain_step(0).ok()) << "not steady";
  EXPECT_EQ(session.viewport.range(), before);
  EXPECT_FALSE(session.path.is_shown());
  session.open(test::shared_small_model());
  EXPECT_FALSE(session.explain_step(1).ok()) << "nothing was replayed";
  EXPECT_FALSE(session.path.step());
}

TEST_F(SessionWhatIfTest, AControlHoldsOneValueAndControlsAddUp) {
  const auto& controls = session.what_if.controls();
  const auto transfers = std::ranges::find(controls, "transfers", &WhatIfControl::label);
  ASSERT_NE(transfers, controls.end());
  const std::vector<WhatIfStop> stops = transfers->stops;
  EXPECT_EQ(session.what_if.answer(), nullptr);
  session.what_if.change(stops, "transfer*0.5");
  session.what_if.change(stops, "transfer=0");
  EXPECT_THAT(session.what_if.changes(), ElementsAre("transfer=0"));
  ASSERT_NE(session.what_if.answer(), nullptr);
  EXPECT_EQ(session.what_if.answer()->answer->gain_ns, 4 * kJobMs);
  session.what_if.change({{"", "phase:forward*0.5"}}, "phase:forward*0.5");
  EXPECT_THAT(session.what_if.changes(), ElementsAre("transfer=0", "phase:forward*0.5"));
  EXPECT_GT(*session.what_if.answer()->answer->gain_ns, 4 * kJobMs);
  session.what_if.change(stops, "");
  EXPECT_THAT(session.what_if.changes(), ElementsAre("phase:forward*0.5"));
  EXPECT_EQ(session.what_if.command_line(),
            "dprof report 'runs/my job' --what-if 'phase:forward*0.5' --sections what-if");
}

TEST_F(SessionWhatIfTest, ChangesAreOfTheRunThatIsOpen) {
  session.what_if.change({"transfer=0"});
  session.path.show(true);
  session.open(test::path_model());
  EXPECT_TRUE(session.what_if.changes().empty());
  EXPECT_FALSE(session.path.is_shown());
}

TEST_F(SessionWhatIfTest, AWindowAnswersBesideItsFrames) {
  session.counted.defer();
  session.what_if.change({"transfer=0"});
  ASSERT_NE(session.what_if.answer(), nullptr);
  EXPECT_TRUE(session.what_if.answer()->answer) << "a small run is answered at once";
  EXPECT_FALSE(session.counted.is_counting_what_if());
}

TEST_F(SessionWhatIfTest, ThePathIsAPartOfASavedView) {
  session.path.show(true);
  const Result<SavedView> kept = view_from_json(to_json(session.saved_view()));
  ASSERT_TRUE(kept.ok());
  session.path.show(false);
  session.restore(*kept);
  EXPECT_TRUE(session.path.is_shown());
}

}  // namespace
}  // namespace dprof::view
