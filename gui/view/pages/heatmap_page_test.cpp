// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/heatmap_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gui/view/model/test_support/test_model.h"
#include "gui/view/session/session.h"

namespace dprof::view {
namespace {

using ::testing::HasSubstr;

constexpr int kWidth = 1200;
constexpr int kHeight = 600;

class HeatmapPageTest : public ::testing::Test {
 protected:
  HeatmapPageTest() { session.open(test::shared_small_model()); }
  [[nodiscard]] HeatmapPage page() const {
    return draw_heatmap(session.model(), session.steps, session.selecting.selection(), kWidth,
                        kHeight, measure);
  }
  [[nodiscard]] std::string text() { return to_text(page().list); }
  void click(std::string_view title) {
    const HeatmapPage now = page();
    const auto choice = std::ranges::find(now.choices, title, &HeatmapChoice::title);
    ASSERT_NE(choice, now.choices.end()) << title;
    choice->choose(session.steps);
  }

  FixedTextMeasure measure;
  Session session;
};

TEST_F(HeatmapPageTest, ShowsOwnDelaysFirstAndNamesTheCulprit) {
  EXPECT_EQ(session.steps.matrix().metric, Metric::kOwnDelay);
  EXPECT_THAT(text(), HasSubstr("Own delay"));
  EXPECT_THAT(text(), HasSubstr("rank 2  node-b"));
  EXPECT_THAT(text(), HasSubstr("30.0 ms"));
  EXPECT_THAT(text(), HasSubstr("step 1"));
}

// Each pixel of the map belongs to a cell, and each cell to a pixel.
TEST_F(HeatmapPageTest, CellsCoverTheMap) {
  const Box map = page().map;
  ASSERT_GT(map.w, 300);
  std::set<std::pair<int, int64_t>> seen;
  for (int y = map.y; y < map.y + map.h; ++y) {
    for (int x = map.x; x < map.x + map.w; x += 3) {
      const auto cell = heatmap_cell_at(session.model(), session.steps, map, {x, y});
      ASSERT_TRUE(cell);
      seen.emplace(cell->rank, cell->step);
    }
  }
  EXPECT_EQ(seen.size(), 9U);
  EXPECT_FALSE(heatmap_cell_at(session.model(), session.steps, map, {map.x - 1, map.y}));
  EXPECT_FALSE(heatmap_cell_at(session.model(), session.steps, map, {map.x, map.y + map.h}));
}

TEST_F(HeatmapPageTest, APixelOfManyCellsShowsTheLargest) {
  Model model = test::small_model();
  model.steps.clear();
  for (RankModel& rank : model.ranks) {
    rank.steps.clear();
    rank.own_delays.clear();
  }
  for (int64_t step = 0; step < 5000; ++step) {
    const Interval window{TraceNs{step * 100}, TraceNs{step * 100 + 90}};
    model.steps.push_back({step, window});
    for (RankModel& rank : model.ranks) {
      rank.steps.push_back({step, window});
      rank.own_delays.push_back({step, rank.rank == 1 && step == 2501 ? 7'000'000 : 10});
    }
  }
  session.open(std::make_shared<const Model>(std::move(model)));
  session.steps.show_metric(Metric::kOwnDelay);
  const Box map = page().map;
  bool found = false;
  for (int x = map.x; x < map.x + map.w; ++x) {
    const auto cell = heatmap_cell_at(session.model(), session.steps, map, {x, map.y + map.h / 2});
    ASSERT_TRUE(cell);
    found = found || (cell->rank == 1 && cell->step == 2501);
  }
  EXPECT_TRUE(found);
}

TEST_F(HeatmapPageTest, ChoicesChangeWhatIsShown) {
  click("Input wait");
  click("highest first");
  EXPECT_THAT(text(), HasSubstr("40.0 ms"));
  const auto cell =
      heatmap_cell_at(session.model(), session.steps, page().map, {page().map.x, page().map.y});
  ASSERT_TRUE(cell);
  EXPECT_EQ(cell->rank, 2) << "the highest is first";
  EXPECT_THAT(cell->text, HasSubstr("Input wait 40.0 ms"));
}

TEST_F(HeatmapPageTest, ACellChoosesItsRankAndStep) {
  session.selecting.select_cell(1, 2);
  EXPECT_EQ(session.selecting.selection().step, 2);
  EXPECT_THAT(session.selecting.selection().ranks, ::testing::ElementsAre(1));
  EXPECT_FALSE(session.selecting.selection().finding) << "the finding is about rank 2";
  session.selecting.select_finding(0);
  session.selecting.select_cell(2, 0);
  EXPECT_EQ(session.selecting.selection().finding, 0U);
}

// One of a thousand, in a map of a few hundred pixels.
TEST_F(HeatmapPageTest, ACulpritHasARowAsHighAsItsName) {
  Model model = test::small_model();
  const RankModel one = model.ranks.front();
  model.ranks.clear();
  for (int rank = 0; rank < 1000; ++rank) {
    model.ranks.push_back(one);
    model.ranks.back().rank = rank;
    for (analyzer::OwnDelay& delay : model.ranks.back().own_delays)
      delay.ns = rank == 517 ? 30 * test::kMs : 0;
  }
  model.report.stragglers = {{.rank = 517, .own_delay_ns = 30 * test::kMs}};
  session.open(std::make_shared<const Model>(std::move(model)));
  session.selecting.clear();
  const Box map = page().map;
  int rows = 0;
  for (int y = map.y; y < map.y + map.h; ++y)
    rows += heatmap_cell_at(session.model(), session.steps, map, {map.x, y})->rank == 517 ? 1 : 0;
  EXPECT_GE(rows, 13);
  EXPECT_LE(rows, 15);
  EXPECT_THAT(text(), HasSubstr("problem"));
  EXPECT_THAT(text(), HasSubstr("rank 517"));
  std::set<int> seen;
  for (int y = map.y; y < map.y + map.h; ++y)
    seen.insert(heatmap_cell_at(session.model(), session.steps, map, {map.x, y})->rank);
  EXPECT_TRUE(seen.contains(0)) << "the first pixel is the first ranks'";
}

TEST_F(HeatmapPageTest, AClickOnAFoldedHostUnfoldsIt) {
  click("by host");
  EXPECT_THAT(text(), HasSubstr("node-a (2): rank 0"));
  click("node-a");
  EXPECT_THAT(text(), HasSubstr("rank 1  node-a"));
  EXPECT_THAT(text(), HasSubstr("node-b (1): rank 2"));
  click("folded");
  EXPECT_THAT(text(), HasSubstr("rank 2  node-b"));
  click("highest first");
  EXPECT_THAT(session.steps.matrix().ranks, ::testing::ElementsAre(2U, 0U, 1U));
  click("ungrouped");
  EXPECT_FALSE(session.steps.rows().division);
}

TEST_F(HeatmapPageTest, WithoutStepsItSaysWhy) {
  Model model = test::small_model();
  model.steps.clear();
  model.report.findings.reset();
  session.open(std::make_shared<const Model>(std::move(model)));
  EXPECT_THAT(text(), HasSubstr("No training step was found"));
  EXPECT_EQ(page().map, Box());
}

TEST_F(HeatmapPageTest, ManyRanksOpenOnIt) {
  EXPECT_EQ(session.viewport.page(), Page::kTimeline);
  Model model = test::small_model();
  const RankModel one = model.ranks.front();
  for (int rank = 3; rank < 17; ++rank) {
    model.ranks.push_back(one);
    model.ranks.back().rank = rank;
  }
  session.open(std::make_shared<const Model>(std::move(model)));
  EXPECT_EQ(session.viewport.page(), Page::kHeatmap);
}

}  // namespace
}  // namespace dprof::view
