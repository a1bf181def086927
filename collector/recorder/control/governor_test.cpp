// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/control/governor.h"

#include <gtest/gtest.h>

namespace dprof::recorder {
namespace {

using wire::CaptureCause;

constexpr int64_t kSecond = 1'000'000'000;

CostSample cost(double share, int64_t lost = 0) {
  return {kSecond, static_cast<int64_t>(share * kSecond / 2),
          static_cast<int64_t>(share * kSecond / 2), lost};
}

TEST(GovernorTest, LowersBeforeTheLimitIsPassed) {
  Governor governor(0.01);
  EXPECT_EQ(governor.on_sample(cost(0.007)), std::nullopt);
  EXPECT_EQ(governor.on_sample(cost(0.0078)), std::nullopt);
  EXPECT_EQ(governor.on_sample(cost(0.0099)), CaptureCause::kGovernor);
}

TEST(GovernorTest, OneDearSampleAmongCheapOnesIsNotEnough) {
  Governor governor(0.01);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(governor.on_sample(cost(i % 3 == 0 ? 0.015 : 0.001)),
              i == 0 ? std::optional(CaptureCause::kGovernor) : std::nullopt)
        << i;
  }
}

TEST(GovernorTest, AfterALoweringTheNextSampleDoesNotCount) {
  Governor governor(0.01);
  EXPECT_EQ(governor.on_sample(cost(0.05)), CaptureCause::kGovernor);
  EXPECT_EQ(governor.on_sample(cost(0.05)), std::nullopt);
  EXPECT_EQ(governor.on_sample(cost(0.05)), CaptureCause::kGovernor);
}

TEST(GovernorTest, AVeryShortSampleDecidesNothing) {
  Governor governor(0.01);
  EXPECT_EQ(governor.on_sample({Governor::kLeastNs / 2, kSecond, 0, 0}), std::nullopt);
}

TEST(GovernorTest, LossesThatGoOnLowerToo) {
  Governor governor(0.5);
  EXPECT_EQ(governor.on_sample(cost(0, 5)), std::nullopt);
  EXPECT_EQ(governor.on_sample(cost(0, 5)), std::nullopt);
  EXPECT_EQ(governor.on_sample(cost(0, 0)), std::nullopt);
  EXPECT_EQ(governor.on_sample(cost(0, 5)), std::nullopt);
  EXPECT_EQ(governor.on_sample(cost(0, 5)), std::nullopt);
  EXPECT_EQ(governor.on_sample(cost(0, 1)), CaptureCause::kLoss);
}

}  // namespace
}  // namespace dprof::recorder
