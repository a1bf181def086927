// SPDX-License-Identifier: Apache-2.0
// The generator of docs/analysis/memory.md: a level of 20 GB, noise of 30 MB, 200 steps, 200
// trials.
#include "analyzer/memory/leak_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace dprof::analyzer {
namespace {

constexpr double kLevel = 20e9;
constexpr double kNoise = 30e6;
constexpr int kSteps = 200;
constexpr int kTrials = 200;

struct Trials {
  int found = 0;
  double slope = 0;     // mean of those found
  int wrong = 0;        // slopes that are off by more than a tenth
  int not_covered = 0;  // whose interval misses the truth
};

Trials tried(const std::function<double(int)>& shape, double truth = 0, int trials = kTrials) {
  Trials result;
  std::mt19937_64 random(13);
  const auto noise = [&] {
    return kNoise * (2 * (static_cast<double>(random() >> 11) / 9007199254740992.0) - 1);
  };
  std::vector<double> x;
  for (int s = 0; s < kSteps; ++s) x.push_back(s);
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> y;
    for (int s = 0; s < kSteps; ++s) y.push_back(kLevel + shape(s) + noise());
    const std::optional<LeakFit> fit = fit_leak(x, y);
    if (!fit) continue;
    ++result.found;
    result.slope += fit->slope;
    result.wrong += std::abs(fit->slope - truth) > 0.1 * truth ? 1 : 0;
    result.not_covered += std::abs(fit->slope - truth) > fit->bound ? 1 : 0;
  }
  if (result.found > 0) result.slope /= result.found;
  return result;
}

double sawtooth(int s) { return 200e6 * (s % 50) / 50; }

TEST(LeakFitTest, NothingIsFoundWhereNothingLeaks) {
  EXPECT_EQ(tried([](int) { return 0.0; }).found, 0);
  EXPECT_EQ(tried([](int s) { return -2e9 * std::exp(-s / 10.0); }).found, 0) << "warm-up";
  EXPECT_EQ(tried([](int s) { return s < 100 ? 0 : 300e6; }).found, 0) << "one jump";
}

TEST(LeakFitTest, ASawtoothIsHardlyEverALeak) {
  EXPECT_LE(tried(sawtooth).found, kTrials * 7 / 100);
}

TEST(LeakFitTest, EveryLeakIsFoundAndItsSlopeIsRight) {
  const auto slow = tried([](int s) { return 0.5e6 * s; }, 0.5e6, 40);
  EXPECT_EQ(slow.found, 40);
  EXPECT_NEAR(slow.slope, 0.5e6, 0.05e6);
  const auto fast = tried([](int s) { return 2e6 * s; }, 2e6, 15);
  EXPECT_EQ(fast.found, 15);
  EXPECT_EQ(fast.wrong, 0);
  const auto jump = [](int s) {
    const int jumps = s / 20;
    return 40e6 * jumps;
  };
  const auto jumps = tried(jump, 2e6, 15);
  EXPECT_EQ(jumps.found, 15);
  EXPECT_NEAR(jumps.slope, 2e6, 0.2e6);
  const auto mixed = tried([](int s) { return 2e6 * s + sawtooth(s); }, 2e6, 15);
  EXPECT_EQ(mixed.found, 15);
}

TEST(LeakFitTest, TheBoundCoversTheTruth) {
  const auto fast = tried([](int s) { return 2e6 * s; }, 2e6, 40);
  EXPECT_LE(fast.not_covered, 6) << "of 40, at 95 %";
}

TEST(LeakFitTest, TooFewPointsTellNothing) {
  std::vector<double> x, y;
  for (int s = 0; s < 19; ++s) x.push_back(s), y.push_back(1e9 + 50e6 * s);
  EXPECT_FALSE(fit_leak(x, y));
  x.push_back(19), y.push_back(1e9 + 50e6 * 19);
  ASSERT_TRUE(fit_leak(x, y));
  EXPECT_NEAR(fit_leak(x, y)->slope, 50e6, 1);
  EXPECT_FALSE(fit_leak({1, 2, 3}, {1}));
}

TEST(LeakFitTest, ManyPointsAreJoined) {
  std::vector<double> x, y;
  for (int s = 0; s < 100'000; ++s)
    x.push_back(s), y.push_back(1e9 + 1e5 * s + (s % 7 == 0 ? 0 : 5e6));
  const std::optional<LeakFit> fit = fit_leak(x, y);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->slope, 1e5, 1e3);
}

}  // namespace
}  // namespace dprof::analyzer
