// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/overview_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/model/test_support/test_model.h"
#include "gui/view/session/session.h"

namespace dprof::view {
namespace {

using ::testing::HasSubstr;

class OverviewPageTest : public ::testing::Test {
 protected:
  void open(Model model) { session.open(std::make_shared<const Model>(std::move(model))); }
  [[nodiscard]] Panel page() {
    return draw_overview_page(session.model(), session.selecting, 1000, 700, measure);
  }
  [[nodiscard]] std::string text() { return to_text(page().list); }

  FixedTextMeasure measure;
  Session session;
};

Model with_breakdown() {
  Model model = test::small_model();
  analyzer::Breakdown breakdown;
  for (int rank = 0; rank < test::kRanks; ++rank) {
    analyzer::RankBreakdown one;
    one.rank = rank;
    one.wall_ns = test::kSteps * test::kStepNs;
    one.category_ns[static_cast<size_t>(analyzer::Category::kForward)] =
        test::kSteps * 60 * test::kMs;
    one.category_ns[static_cast<size_t>(analyzer::Category::kExposedWait)] =
        test::kSteps * 40 * test::kMs;
    breakdown.per_rank.push_back(one);
  }
  model.report.breakdown = std::move(breakdown);
  return model;
}

TEST_F(OverviewPageTest, TheMeanStepAndEachRank) {
  open(with_breakdown());
  EXPECT_THAT(text(), HasSubstr("Where a step goes: 100.0 ms"));
  EXPECT_THAT(text(), HasSubstr("60.0 ms"));
  EXPECT_THAT(text(), HasSubstr("own +30.0 ms"));
  const Panel drawn = page();
  ASSERT_EQ(drawn.links.size(), 3U);
  EXPECT_GE(drawn.height, drawn.links[1].box.y + drawn.links[1].box.h);
  drawn.links[1].follow();
  EXPECT_EQ(session.selecting.selection().ranks, std::vector<int>{1});
  EXPECT_TRUE(drawn.links[1].shows);
}

TEST_F(OverviewPageTest, PartsOfABarFillIt) {
  open(with_breakdown());
  int filled = 0;
  const DrawList list = page().list;
  for (const Command& command : list.commands()) {
    const bool part = command.kind == CommandKind::kRect || command.kind == CommandKind::kHatch;
    if (part && is_category(command.role) && command.box.h == 30) filled += command.box.w;
  }
  EXPECT_EQ(filled, 1000 - 2 * 24);
}

TEST_F(OverviewPageTest, WithoutStepsItSaysWhy) {
  open(test::small_model());
  EXPECT_THAT(text(), HasSubstr("No training step was found"));
}

}  // namespace
}  // namespace dprof::view
