// SPDX-License-Identifier: Apache-2.0
#include "base/stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace dprof {
namespace {

TEST(StatsTest, MedianOfOddEvenAndNone) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median_ns({10, 20}), 15);
}

TEST(StatsTest, ASeriesTakesTheValuesOfAnotherOneByTheirPlaces) {
  const std::vector<int64_t> sorted = {10, 20, 30};
  for (size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(quantile_of_sorted(sorted, (static_cast<double>(i) + 0.5) / 3),
                static_cast<double>(sorted[i]), 1e-9);
  EXPECT_EQ(quantile_of_sorted(sorted, 0), 10);
  EXPECT_EQ(quantile_of_sorted(sorted, 1), 30);
  EXPECT_NEAR(quantile_of_sorted(sorted, 1.0 / 3), 15, 1e-9);
}

// Exactly, also where values are equal.
TEST(StatsTest, WithoutOneIsAsOfTheOthers) {
  std::mt19937_64 random(7);
  for (const size_t n : {1, 2, 3, 4, 5, 8, 9, 50, 51}) {
    for (const double resolution : {1.0, 1e-6}) {
      std::vector<double> values;
      for (size_t i = 0; i < n; ++i) {
        const double value = std::normal_distribution<double>(3, 2)(random);
        values.push_back(std::round(value / resolution) * resolution);
      }
      const LeaveOneOut leave_one_out(values);
      for (size_t i = 0; i < n; ++i) {
        std::vector<double> others = values;
        others.erase(others.begin() + static_cast<ptrdiff_t>(i));
        EXPECT_EQ(leave_one_out.median_without(values[i]), median(others));
        EXPECT_EQ(leave_one_out.mad_n_without(values[i]), mad_n(others));
      }
    }
  }
}

TEST(StatsTest, MadIgnoresOneOutlier) {
  EXPECT_NEAR(mad_n({1, 2, 3, 4, 1e9}), 1.4826, 1e-9);
  EXPECT_EQ(mad_n({5, 5, 5}), 0);
}

TEST(StatsTest, QuantileInterpolates) {
  EXPECT_DOUBLE_EQ(quantile({10, 0}, 0.25), 2.5);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
}

// Brown, Cai, DasGupta (2001): the interval of all of n is n / (n + z^2) to 1.
TEST(StatsTest, BoundsOfAShare) {
  EXPECT_NEAR(bounds_of_share(1, 4).least, 4 / (4 + 1.96 * 1.96), 1e-9);
  EXPECT_DOUBLE_EQ(bounds_of_share(1, 4).most, 1);
  EXPECT_NEAR(bounds_of_share(0, 4).most, 1 - bounds_of_share(1, 4).least, 1e-9);
  EXPECT_NEAR(bounds_of_share(0.5, 100).least, 0.4038, 1e-4);
  EXPECT_NEAR(bounds_of_share(0.5, 100).most, 0.5962, 1e-4);
  EXPECT_EQ(bounds_of_share(1, 0).least, 0);
  EXPECT_EQ(bounds_of_share(0, 0).most, 1);
}

TEST(StatsTest, BootstrapIsDeterministicAndCoversASampleMean) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(i % 10);
  const Estimate once = bootstrap_mean(values, 3), again = bootstrap_mean(values, 3);
  EXPECT_EQ(once.half_width, again.half_width);
  EXPECT_DOUBLE_EQ(once.value, 4.5);
  EXPECT_NEAR(once.half_width, 1.96 * 2.872 / 10, 0.12);
  EXPECT_EQ(bootstrap_mean({4}).half_width, 0);
}

TEST(RisePointTest, IsWhereTheHigherLevelBegins) {
  EXPECT_EQ(rise_point(std::vector<double>{1, 1, 1, 5, 5, 5, 5}), 3U);
  EXPECT_EQ(rise_point(std::vector<double>{5, 5, 1, 1}), 0U) << "it falls";
  EXPECT_EQ(rise_point(std::vector<double>{2, 2, 2}), 0U);
  EXPECT_EQ(rise_point({}), 0U);
}

TEST(StatsTest, RoundedNumbersAddUp) {
  EXPECT_EQ(rounded_to_sum({0.5, 0.5, 0.5, 0.5}), (std::vector<int64_t>{1, 1, 0, 0}));
  EXPECT_EQ(rounded_to_sum({-0.4, -0.4, 1.8}), (std::vector<int64_t>{0, -1, 2}));
  EXPECT_EQ(rounded_to_sum({3, 4}), (std::vector<int64_t>{3, 4}));
  EXPECT_TRUE(rounded_to_sum({}).empty());
}

}  // namespace
}  // namespace dprof
