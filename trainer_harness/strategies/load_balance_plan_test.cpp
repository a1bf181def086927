// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/load_balance_plan.h"

#include <gtest/gtest.h>

#include <numeric>

#include "trainer_harness/common/usage_error.h"

namespace dprof::trainer_harness {
namespace {

using Parts = std::vector<int64_t>;

TEST(LoadBalancePlan, SharesAddUpExactly) {
  EXPECT_EQ(divide_samples(128, {3, 1}), (Parts{96, 32}));
  EXPECT_EQ(divide_samples(10, {1, 1, 1}), (Parts{4, 3, 3}));
  EXPECT_EQ(divide_samples(7, {0.5, 0.25, 0.25}), (Parts{3, 2, 2}));
}

TEST(LoadBalancePlan, EveryRankHasASample) {
  EXPECT_EQ(divide_samples(4, {1000, 1, 1}), (Parts{2, 1, 1}));
  EXPECT_EQ(divide_samples(3, {1000, 1, 1}), (Parts{1, 1, 1}));
  EXPECT_THROW((void)divide_samples(2, {1, 1, 1}), UsageError);
}

TEST(LoadBalancePlan, EquallyFastRanksKeepTheirShares) {
  EXPECT_EQ(rebalanced({64, 64}, {{640, 1}, {640, 1}}), (Parts{64, 64}));
}

TEST(LoadBalancePlan, TheSlowRankGetsLess) {
  // Rank 1 needs three times as long: 96 and 32 would be balanced; half way there is 80 and 48.
  EXPECT_EQ(rebalanced({64, 64}, {{640, 1}, {640, 3}}), (Parts{80, 48}));
}

TEST(LoadBalancePlan, OneMeasurementChangesNoShareBeyondHalfOrTwice) {
  EXPECT_EQ(rebalanced({16, 112}, {{160, 1}, {1120, 1e6}}), (Parts{32, 96}));
}

TEST(LoadBalancePlan, WithoutAMeasurementNothingMoves) {
  EXPECT_EQ(rebalanced({96, 32}, {{0, 0}, {32, 1}}), (Parts{96, 32}));
}

// A rank's time has a per-sample and a fixed part: the division settles at equal times.
TEST(LoadBalancePlan, SettlesWhereAllRanksNeedEquallyLong) {
  Parts parts = {64, 64};
  const auto seconds = [](size_t rank, int64_t samples) {
    return 0.001 * static_cast<double>(samples) + (rank == 1 ? 0.03 : 0);
  };
  for (int round = 0; round < 20; ++round) {
    std::vector<RankSpeed> measured;
    for (size_t rank = 0; rank < parts.size(); ++rank) {
      measured.push_back({static_cast<double>(parts[rank]), seconds(rank, parts[rank])});
    }
    parts = rebalanced(parts, measured);
    ASSERT_EQ(std::accumulate(parts.begin(), parts.end(), int64_t{0}), 128);
  }
  EXPECT_NEAR(seconds(0, parts[0]), seconds(1, parts[1]), 0.003);
}

}  // namespace
}  // namespace dprof::trainer_harness
