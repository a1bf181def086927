// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/compare_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/diff/render.h"
#include "gui/view/model/test_support/test_model.h"
#include "gui/view/session/session.h"

namespace dprof::view {
namespace {

using test::kMs;
using ::testing::HasSubstr;

class ComparePageTest : public ::testing::Test {
 protected:
  ComparePageTest() { session.open(test::shared_small_model()); }
  [[nodiscard]] Panel page(int top = 0) {
    return draw_compare_page(session.model(), session.compared.get(), session.selecting, 1300, 500,
                             top, measure);
  }
  [[nodiscard]] std::string text() { return to_text(page().list); }

  FixedTextMeasure measure;
  Session session;
};

analyzer::Breakdown breakdown(int64_t input_ns) {
  analyzer::Breakdown all;
  analyzer::RankBreakdown one;
  one.wall_ns = test::kSteps * test::kStepNs;
  one.category_ns[static_cast<size_t>(analyzer::Category::kInputWait)] = test::kSteps * input_ns;
  all.per_rank.push_back(one);
  return all;
}

TEST_F(ComparePageTest, WithoutAnotherRunItSaysHow) {
  EXPECT_THAT(text(), HasSubstr("--compare OTHER"));
}

TEST_F(ComparePageTest, WhatTakesLongerThereComesFirst) {
  Model run = test::small_model();
  Model other = test::small_model();
  run.report.breakdown = breakdown(40 * kMs);
  other.report.breakdown = breakdown(10 * kMs);
  other.run.name = "faster";
  // Rank 2 fetches its input as fast as the others.
  analyzer::RankLanes lanes = other.ranks[2].lanes();
  for (int64_t& length : lanes.threads[0].depths[1].duration_ns)
    length = length == 40 * kMs ? 10 * kMs : length;
  other.ranks[2].events = std::make_shared<const RankEvents>(std::move(lanes));
  session.open(std::make_shared<const Model>(run));
  session.compared = compare_models(run, events_of(run), other);
  const std::string drawn = text();
  EXPECT_THAT(drawn, HasSubstr("small beside faster"));
  const size_t first = session.compared->beside.size();  // ranks come before names
  const Panel names = page(600);                         // below the fold
  EXPECT_THAT(to_text(names.list), HasSubstr("▼ 10.0 ms")) << "30 ms of one of three ranks";
  ASSERT_GT(names.links.size(), first);
  names.links[first].follow();
  EXPECT_EQ(session.selecting.selection().name, session.compared->comparison.names.front().name);
}

// The page shows what `dprof diff` prints, word for word.
TEST_F(ComparePageTest, ItSaysWhatDiffSays) {
  Model run = test::small_model();
  Model other = test::small_model();
  run.report.breakdown = breakdown(40 * kMs);
  other.report.breakdown = breakdown(10 * kMs);
  run.report.run.name = "small";
  other.report.run.name = "faster";
  session.open(std::make_shared<const Model>(run));
  session.compared = compare_models(run, events_of(run), other);
  ASSERT_TRUE(session.compared->diff);
  const analyzer::Diff& diff = *session.compared->diff;
  EXPECT_EQ(diff.a.runs, std::vector<std::string>{"small"});
  EXPECT_EQ(diff.b.runs, std::vector<std::string>{"faster"});
  ASSERT_TRUE(diff.division);
  const std::string drawn = text();
  EXPECT_THAT(drawn, HasSubstr(analyzer::diff_answer(diff).text)) << "3 steps are too few";
  EXPECT_THAT(drawn, HasSubstr("Where the change is"));
  for (const char* cell : {"input wait", "40.0", "10.0", "-30.0", "mean step"})
    EXPECT_THAT(drawn, HasSubstr(cell));
}

TEST_F(ComparePageTest, StepsOfBothLieOnOneScale) {
  const Model run = test::small_model();
  Model other = test::small_model();
  for (RankModel& rank : other.ranks) {  // steps of the same begin, a quarter shorter
    for (analyzer::StepWindow& step : rank.steps)
      step.window.end = step.window.begin + DurationNs{test::kStepNs * 3 / 4};
  }
  session.open(std::make_shared<const Model>(run));
  session.compared = compare_models(run, events_of(run), other);
  ASSERT_EQ(session.compared->beside.size(), 3U);
  session.selecting.select_step(1);
  const Panel drawn = page();
  EXPECT_THAT(to_text(drawn.list), HasSubstr("Step 1 of both"));
  EXPECT_THAT(to_text(drawn.list), HasSubstr("100 ms"));
  EXPECT_THAT(to_text(drawn.list), HasSubstr("75.0 ms"));
  // The drawing of B ends at three quarters of the drawing of A.
  int ends[2] = {0, 0};
  std::vector<int> lines;
  for (const Command& command : drawn.list.commands()) {
    if ((command.kind != CommandKind::kRect && command.kind != CommandKind::kHatch) ||
        !is_category(command.role) || command.box.h < 10)
      continue;
    if (std::ranges::count(lines, command.box.y) == 0) lines.push_back(command.box.y);
    const size_t line = lines.size() - 1;
    if (line < 2) ends[line] = std::max(ends[line], command.box.x + command.box.w);
  }
  ASSERT_GE(lines.size(), 2U);
  const Box background = [&] {
    for (const Command& command : drawn.list.commands()) {
      if (command.kind == CommandKind::kRect && command.role == Role::kLaneBackground)
        return command.box;
    }
    return Box{};
  }();
  EXPECT_NEAR(ends[0] - background.x, background.w, 2);
  EXPECT_NEAR(ends[1] - background.x, background.w * 3 / 4, 2);
}

TEST_F(ComparePageTest, DurationsOfTheChosenNameLieOverEachOther) {
  const auto cost = [](std::vector<double> by_length) {
    return analyzer::NameCost{.count = 1, .by_length = std::move(by_length)};
  };
  ComparedRuns runs{.other_name = "other"};
  runs.comparison.names = {
      {.name = "gemm", .a = cost({0, 0, 2, 4}), .b = cost({0, 0, 0, 0, 8, 0})}};
  session.compared = std::make_shared<const ComparedRuns>(std::move(runs));
  EXPECT_THAT(text(), ::testing::Not(HasSubstr("durations of")));
  session.selecting.select_name("gemm");
  const Panel drawn = page();
  EXPECT_THAT(to_text(drawn.list), HasSubstr("durations of gemm"));
  std::vector<Box> bars;
  std::vector<Point> outline;
  for (const Command& command : drawn.list.commands()) {
    if (command.kind == CommandKind::kRect && command.role == Role::kUtilisation)
      bars.push_back(command.box);
    if (command.kind == CommandKind::kPolyline) {
      const auto points = drawn.list.points_of(command);
      outline.assign(points.begin(), points.end());
    }
  }
  // From the shortest length in either run: 2, 3, 4 half octaves and an empty one.
  ASSERT_EQ(bars.size(), 4U);
  EXPECT_NEAR(bars[1].h, 2 * bars[0].h, 1);
  EXPECT_EQ(bars[2].h, 0);
  const auto top = std::ranges::min(outline, {}, &Point::y);
  EXPECT_NEAR(bars[0].y + bars[0].h - top.y, 4 * bars[0].h, 4) << "on one scale";
  EXPECT_EQ(top.x, bars[2].x);
}

TEST_F(ComparePageTest, OnlyLinesInViewAreDrawn) {
  ComparedRuns runs{.other_name = "other"};
  for (int i = 0; i < 50'000; ++i)
    runs.comparison.names.push_back({.name = fmt::format("name {}", i), .a = analyzer::NameCost{}});
  session.compared = std::make_shared<const ComparedRuns>(std::move(runs));
  const Panel drawn = page(400'000);
  EXPECT_GT(drawn.height, 50'000 * 20);
  EXPECT_LT(drawn.list.commands().size(), 500U);
  EXPECT_THAT(to_text(drawn.list), HasSubstr("name 18"));
}

}  // namespace
}  // namespace dprof::view
