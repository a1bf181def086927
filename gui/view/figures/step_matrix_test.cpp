// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/step_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/model/test_support/test_model.h"

namespace dprof::view {
namespace {

using test::kMs;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr auto kUnknown = StepMatrix::kUnknown;

TEST(StepMatrixTest, FiguresOfEachRankInEachStep) {
  const Model model = test::small_model();
  const auto of = [&](Metric metric) { return step_matrix(model, metric, RankOrder::kByRank); };
  const StepMatrix lengths = of(Metric::kStepTime);
  EXPECT_THAT(lengths.steps, ElementsAre(0, 1, 2));
  EXPECT_THAT(lengths.ranks, ElementsAre(0U, 1U, 2U));
  EXPECT_THAT(lengths.ns, Each(test::kStepNs));
  EXPECT_THAT(of(Metric::kInput).rank_mean_ns, ElementsAre(10 * kMs, 10 * kMs, 40 * kMs));
  EXPECT_THAT(of(Metric::kWait).rank_mean_ns, ElementsAre(30 * kMs, 30 * kMs, 0));
  EXPECT_THAT(of(Metric::kExposed).rank_mean_ns, ElementsAre(40 * kMs, 40 * kMs, 10 * kMs));
  EXPECT_THAT(of(Metric::kOwnDelay).rank_mean_ns, ElementsAre(0, 0, 30 * kMs));
  EXPECT_THAT(of(Metric::kOwnDelay).step_mean_ns, Each(10 * kMs));
  EXPECT_THAT(of(Metric::kOwnDelay).step_worst_ns, Each(30 * kMs));
}

TEST(StepMatrixTest, HighestFirst) {
  const Model model = test::small_model();
  const StepMatrix delays = step_matrix(model, Metric::kOwnDelay, RankOrder::kByValue);
  EXPECT_THAT(delays.ranks, ElementsAre(2U, 0U, 1U));
  EXPECT_EQ(delays.at(0, 1), 30 * kMs);
  EXPECT_EQ(delays.at(2, 1), 0);
}

// The mean over steps then equals the report's own delay.
TEST(StepMatrixTest, LessWorkThanThePeersIsLess) {
  Model model = test::small_model();
  model.ranks[0].own_delays = {{0, -6 * kMs}, {1, -6 * kMs}, {2, 3 * kMs}};
  const StepMatrix delays = step_matrix(model, Metric::kOwnDelay, RankOrder::kByRank);
  EXPECT_EQ(delays.rank_mean_ns[0], -3 * kMs);
  EXPECT_FLOAT_EQ(delays.level_of(delays.at(0, 0)), 0) << "and is as pale as none";
}

TEST(StepMatrixTest, WhatARankDoesNotHaveIsUnknownAndNotZero) {
  Model model = test::small_model();
  model.ranks[1].steps.erase(model.ranks[1].steps.begin());
  model.ranks[0].own_delays.clear();
  const StepMatrix lengths = step_matrix(model, Metric::kStepTime, RankOrder::kByRank);
  EXPECT_EQ(lengths.at(1, 0), kUnknown);
  EXPECT_EQ(lengths.rank_mean_ns[1], test::kStepNs);
  EXPECT_LT(lengths.level_of(kUnknown), 0);
  const StepMatrix delays = step_matrix(model, Metric::kOwnDelay, RankOrder::kByValue);
  EXPECT_THAT(delays.ranks, ElementsAre(2U, 1U, 0U)) << "unknown ranks are last";
  EXPECT_EQ(delays.rank_mean_ns[2], kUnknown);
}

TEST(StepMatrixTest, ARankThatIsAlwaysLateStandsOutAmongAThousand) {
  Model model = test::small_model();
  model.steps.clear();
  for (int64_t step = 0; step < 20; ++step)
    model.steps.push_back({step, {TraceNs{step * 1000}, TraceNs{step * 1000 + 900}}});
  model.ranks.clear();
  for (int r = 0; r < 1000; ++r) {
    RankModel rank{.rank = r};
    for (const analyzer::StepWindow& step : model.steps) {
      const int64_t late = r == 517 ? 60 : step.index % 3;
      rank.own_delays.push_back({.step = step.index, .ns = late});
      rank.steps.push_back(step);
    }
    model.ranks.push_back(std::move(rank));
  }
  const StepMatrix delays = step_matrix(model, Metric::kOwnDelay, RankOrder::kByRank);
  EXPECT_EQ(delays.high_ns, 60);
  EXPECT_LT(delays.level_of(2), 0.1F);
}

// Delays below the detection floor are pale, and a culprit's colour only appears with a culprit.
TEST(StepMatrixTest, ColoursBeginAtTheFloor) {
  Model model = test::small_model();
  model.report.detection = analyzer::Detection{.floor_ns = 4 * kMs};
  const StepMatrix late = step_matrix(model, Metric::kOwnDelay, RankOrder::kByRank);
  EXPECT_EQ(late.low_ns, 4 * kMs);
  EXPECT_EQ(late.high_ns, 30 * kMs);
  EXPECT_FLOAT_EQ(late.level_of(3 * kMs), 0);
  for (RankModel& rank : model.ranks) {
    for (analyzer::OwnDelay& delay : rank.own_delays) delay.ns = rank.rank * kMs;
  }
  model.report.stragglers = std::vector<analyzer::Straggler>();
  const StepMatrix healthy = step_matrix(model, Metric::kOwnDelay, RankOrder::kByRank);
  EXPECT_EQ(healthy.high_ns, 8 * kMs);
  EXPECT_FLOAT_EQ(healthy.level_of(2 * kMs), 0) << "the highest of all is noise";
}

TEST(StepMatrixTest, AFoldedGroupHasTheHighestOfItsRanks) {
  Model model = test::small_model();
  model.ranks[0].own_delays[1].ns = 7 * kMs;
  const StepMatrix hosts =
      step_matrix(model, Metric::kOwnDelay, RowChoice{.division = 0, .folded = true});
  ASSERT_EQ(hosts.members.size(), 2U);
  EXPECT_THAT(hosts.members[0], ElementsAre(0U, 1U));
  EXPECT_THAT(hosts.members[1], ElementsAre(2U));
  EXPECT_EQ(hosts.at(0, 1), 7 * kMs) << "the highest, never a mean";
  EXPECT_EQ(rank_in(model, hosts, 0, 1), 0U);
  EXPECT_EQ(hosts.at(1, 0), 30 * kMs);
}

TEST(StepMatrixTest, AnUnfoldedGroupStaysTogether) {
  Model model = test::small_model();
  const auto ranks_of = [&](const RowChoice& rows) {
    return step_matrix(model, Metric::kOwnDelay, rows).ranks;
  };
  EXPECT_THAT(
      ranks_of({.order = RankOrder::kByValue, .division = 0, .folded = true, .unfolded = {0}}),
      ElementsAre(2U, 0U, 1U));
  model.groups.divisions[0].group = {0, 1, 0};
  EXPECT_THAT(ranks_of({.division = 0}), ElementsAre(0U, 2U, 1U));
  EXPECT_THAT(ranks_of({.order = RankOrder::kByValue, .division = 0}), ElementsAre(2U, 0U, 1U));
}

TEST(StepMatrixTest, MostExpensiveFirstIsByTheVerdictsCost) {
  Model model = test::small_model();
  model.report.stragglers = {{.rank = 1, .cost_ns = 5 * kMs}};
  EXPECT_THAT(step_matrix(model, Metric::kOwnDelay, RankOrder::kByCost).ranks,
              ElementsAre(1U, 2U, 0U))
      << "then by value";
}

TEST(StepMatrixTest, OneWildValueDoesNotMakeAllOthersPale) {
  Model model = test::small_model();
  for (RankModel& rank : model.ranks) {
    rank.own_delays.clear();
    rank.steps.clear();
  }
  model.steps.clear();
  for (int64_t step = 0; step < 200; ++step) {
    const Interval window{TraceNs{step * 1000}, TraceNs{step * 1000 + 900 + step % 100}};
    model.steps.push_back({step, window});
    for (RankModel& rank : model.ranks) rank.steps.push_back({step, window});
  }
  model.ranks[0].steps[7].window.end = TraceNs{1'000'000};
  const StepMatrix lengths = step_matrix(model, Metric::kStepTime, RankOrder::kByRank);
  EXPECT_LT(lengths.high_ns, 1000);
  EXPECT_FLOAT_EQ(lengths.level_of(lengths.at(0, 7)), 1);
  EXPECT_GT(lengths.level_of(990), 0.8F);
  EXPECT_LT(lengths.level_of(910), 0.2F);
}

TEST(StepMatrixTest, NoStepsIsNoMatrix) {
  Model model = test::small_model();
  model.steps.clear();
  const StepMatrix none = step_matrix(model, Metric::kWait, RankOrder::kByValue);
  EXPECT_TRUE(none.ns.empty());
  EXPECT_TRUE(none.steps.empty());
}

}  // namespace
}  // namespace dprof::view
