// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/notable_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/model/test_support/test_model.h"

namespace dprof::view {
namespace {

using test::kMs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// This many ranks, each 1 µs slower than the one before; rank 0 is as fast as its peers.
Model many_ranks(int count) {
  Model model = test::small_model();
  model.ranks.resize(1);
  const RankModel one = model.ranks.front();
  model.ranks.clear();
  for (int r = 0; r < count; ++r) {
    RankModel rank = one;
    rank.rank = r;
    rank.own_delay.reset();
    rank.waited_for = {};
    rank.wait_per_step = DurationNs{(r % 7) * kMs};
    for (analyzer::OwnDelay& delay : rank.own_delays) delay.ns = r * kNsPerUs;
    model.ranks.push_back(std::move(rank));
  }
  model.report.stragglers = std::vector<analyzer::Straggler>();
  model.report.hang.reset();
  return model;
}

std::vector<std::pair<int, RankReason>> chosen(const Model& model) {
  std::vector<std::pair<int, RankReason>> all;
  for (const NotableRank& one : notable_ranks(model)) all.emplace_back(one.rank, one.reason);
  return all;
}

TEST(NotableRanksTest, HealthyOnesHaveEndsAndAMiddleAndNoCulprit) {
  EXPECT_THAT(chosen(many_ranks(101)),
              ElementsAre(Pair(100, RankReason::kSlowest), Pair(0, RankReason::kFastest),
                          Pair(50, RankReason::kTypical)));
}

TEST(NotableRanksTest, TheCulpritIsFirstThenWhoWaitsLongest) {
  Model model = many_ranks(101);
  model.report.stragglers = {{.rank = 100, .own_delay_ns = 9 * kMs}};
  const std::vector<NotableRank> ranks = notable_ranks(model);
  EXPECT_THAT(chosen(model),
              ElementsAre(Pair(100, RankReason::kCulprit), Pair(6, RankReason::kVictim),
                          Pair(0, RankReason::kFastest), Pair(50, RankReason::kTypical)))
      << "the slowest is the culprit, and there once";
  EXPECT_EQ(ranks[0].ns, 9 * kMs) << "as the report says";
  EXPECT_EQ(figure_of(ranks[0]), "+9.0 ms");
  EXPECT_EQ(figure_of(ranks[1]), "waits 6.0 ms");
}

TEST(NotableRanksTest, OfAHostAllAreCulpritsTheWorstFirst) {
  Model model = many_ranks(64);
  model.report.stragglers = {{.rank = 9, .own_delay_ns = 5 * kMs, .host_ranks = {8, 9, 10}}};
  const std::vector<Culprit> culprits = culprits_of(model);
  ASSERT_EQ(culprits.size(), 3U);
  EXPECT_EQ(culprits[0].rank, 9);
  EXPECT_EQ(culprits[1].rank, 8);
  EXPECT_EQ(culprits[1].own_delay_ns, 8 * kNsPerUs) << "its own, not the worst one's";
  EXPECT_EQ(culprits[2].rank, 10);
}

TEST(NotableRanksTest, ASlowInterfaceIsItsHostsAndNoDelayOfTheirs) {
  Model model = many_ranks(64);
  model.report.slow_links = analyzer::SlowLinks();
  model.report.slow_links->hosts.push_back(
      {.host = "node-1", .ranks = {4, 5}, .excess_ns = 3 * kMs});
  const std::vector<Culprit> culprits = culprits_of(model);
  ASSERT_EQ(culprits.size(), 2U);
  EXPECT_FALSE(culprits[0].own_delay_ns);
  EXPECT_EQ(figure_of(notable_ranks(model).front()), "costs 3.0 ms");
}

TEST(NotableRanksTest, WhomOthersWaitForMost) {
  Model model = many_ranks(64);
  model.ranks[3].waited_for = DurationNs{kMs};
  model.ranks[21].waited_for = DurationNs{2 * kMs};
  EXPECT_EQ(chosen(model).front(), std::pair(21, RankReason::kWaitedFor));
  EXPECT_EQ(figure_of(notable_ranks(model).front()), "2.0 ms waited");
}

TEST(NotableRanksTest, ManyCulpritsAreCut) {
  Model model = many_ranks(64);
  analyzer::Straggler host{.rank = 0};
  for (int r = 0; r < 30; ++r) host.host_ranks.push_back(r);
  model.report.stragglers = {host};
  EXPECT_EQ(std::ranges::count(notable_ranks(model), RankReason::kCulprit, &NotableRank::reason),
            static_cast<std::ptrdiff_t>(kMostCulprits));
}

TEST(NotableRanksTest, WithoutComparisonTheStepsAreCompared) {
  Model model = many_ranks(30);
  for (RankModel& rank : model.ranks) rank.own_delays.clear();
  for (analyzer::StepWindow& step : model.ranks[17].steps)
    step.window.end = step.window.end + DurationNs{kMs};
  EXPECT_EQ(chosen(model).front(), std::pair(17, RankReason::kSlowest));
  for (RankModel& rank : model.ranks) rank.steps.clear();
  EXPECT_THAT(chosen(model), IsEmpty());
}

TEST(NotableRanksTest, WhereEachStepHasAnotherLateRankNobodyIsTheCulprit) {
  Model model = many_ranks(101);
  EXPECT_FALSE(rotating_delay(model));
  model.report.stragglers = {{.shape = "rotating", .cause = "host", .cost_ns = 9 * kMs}};
  model.report.findings->push_back({.cost_ns = 9 * kMs, .cause = "host"});
  ASSERT_TRUE(rotating_delay(model));
  EXPECT_EQ(rotating_delay(model)->cost_ns, 9 * kMs);
  EXPECT_EQ(rotating_delay(model)->finding, 2U);
  EXPECT_THAT(culprits_of(model), IsEmpty());
  model.report.stragglers->front().cause = "network";
  EXPECT_FALSE(rotating_delay(model)) << "that is about links, not about ranks";
}

TEST(NotableRanksTest, WhatRoundsToNothingHasNoSign) {
  EXPECT_EQ(figure_of({.reason = RankReason::kTypical, .ns = -20 * kNsPerUs}), "0.0 ms");
  EXPECT_EQ(figure_of({.reason = RankReason::kTypical, .ns = 20 * kNsPerUs}), "0.0 ms");
  EXPECT_EQ(figure_of({.reason = RankReason::kFastest, .ns = -2 * kMs}), "-2.0 ms");
}

}  // namespace
}  // namespace dprof::view
