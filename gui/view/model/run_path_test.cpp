// SPDX-License-Identifier: Apache-2.0
// The critical path as the window keeps it.
#include "gui/view/model/run_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/model/test_support/path_model.h"

namespace dprof::view {
namespace {

using test::kJobMs;
using test::kLongStep;

class RunPathTest : public ::testing::Test {
 protected:
  RunPathTest() : model(test::path_model()), path(*model->path) {}
  [[nodiscard]] size_t index_of(int64_t step) const {
    const auto index = path.index_of_step(step);
    EXPECT_TRUE(index) << step;
    return index.value_or(0);
  }
  [[nodiscard]] TraceNs begin_of(int64_t step) const {
    return model->steps[*model->index_of_step(step)].window.begin;
  }

  std::shared_ptr<const Model> model;
  const RunPath& path;
};

TEST_F(RunPathTest, EachSteadyStepHasItsLengthAndTheRankThatDecidedIt) {
  EXPECT_FALSE(path.index_of_step(0)) << "not steady";
  const PathStep& usual = path.steps[index_of(5)];
  EXPECT_EQ(usual.length_ns, 30 * kJobMs);
  EXPECT_EQ(path.median_ns, 30 * kJobMs);
  EXPECT_EQ(path.steps[index_of(kLongStep)].length_ns, 44 * kJobMs);
  EXPECT_NE(path.part_at(1, begin_of(5) + DurationNs{10 * kJobMs}), nullptr);
  EXPECT_EQ(path.part_at(2, begin_of(5) + DurationNs{10 * kJobMs}), nullptr);
  EXPECT_NE(path.part_at(2, begin_of(kLongStep) + DurationNs{10 * kJobMs}), nullptr);
}

TEST_F(RunPathTest, PartsAreInOrderAndAddUpToTheStep) {
  int64_t sum = 0;
  const PathStep& step = path.steps[index_of(kLongStep)];
  for (size_t i = 0; i < path.parts.size(); ++i) {
    if (i > 0) {
      EXPECT_LE(path.parts[i - 1].span.end, path.parts[i].span.begin);
    }
    const Interval& span = path.parts[i].span;
    if (span.begin >= step.span.begin && span.end <= step.span.end) sum += span.length().ns;
  }
  EXPECT_EQ(sum, 44 * kJobMs);
}

TEST_F(RunPathTest, WhereTheLastTransferIsAnothersThePathGoesOnThere) {
  const PathStep& step = path.steps[index_of(kLongStep)];
  ASSERT_EQ(step.jumps, 1U);
  const PathJump& jump = path.jumps_of(step)[0];
  EXPECT_EQ(jump.from, 2);
  EXPECT_EQ(jump.at, begin_of(kLongStep) + DurationNs{40 * kJobMs});
  EXPECT_THAT(path.names[jump.by], ::testing::HasSubstr("all_reduce"));
}

TEST_F(RunPathTest, WhoCouldTakeLongerHasSlack) {
  // 6 ms of 30 are a fifth; rank 1 of step 8 has 14 of 44.
  const SlackPart* idle = path.slack_at(0, begin_of(5) + DurationNs{10 * kJobMs});
  ASSERT_NE(idle, nullptr);
  EXPECT_EQ(idle->grade, kMostSlack);
  const SlackPart* busy = path.slack_at(1, begin_of(5) + DurationNs{10 * kJobMs});
  ASSERT_NE(busy, nullptr);
  EXPECT_EQ(busy->grade, 0);
  EXPECT_EQ(path.slack_at(0, begin_of(5) + DurationNs{25 * kJobMs}), nullptr) << "it waits";
}

TEST_F(RunPathTest, DifferencesAreAgainstTheMedianStep) {
  const auto ranks = differences(path, index_of(kLongStep), PathItemKind::kRank);
  ASSERT_GE(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].item->name, "rank 2");
  EXPECT_EQ(ranks[0].by(), 40 * kJobMs);
  EXPECT_EQ(ranks[1].item->name, "rank 1");
  EXPECT_EQ(ranks[1].by(), -26 * kJobMs);
  const auto categories = differences(path, index_of(kLongStep), PathItemKind::kCategory);
  ASSERT_FALSE(categories.empty());
  EXPECT_EQ(categories[0].item->name, "forward");
  EXPECT_EQ(categories[0].by(), 14 * kJobMs);
  EXPECT_EQ(categories[1].by(), 0) << "the transfer is as usual";
}

}  // namespace
}  // namespace dprof::view
