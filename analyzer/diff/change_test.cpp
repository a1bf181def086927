// SPDX-License-Identifier: Apache-2.0
#include "analyzer/diff/change.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace dprof::analyzer {
namespace {

constexpr double kStepNs = 100e6;

// Steps whose logarithms follow an AR(1) process; the whole run is off by `run`.
std::vector<int64_t> made_steps(std::mt19937_64& random, size_t n, double sd, double phi,
                                double run) {
  std::normal_distribution<double> normal;
  std::vector<int64_t> steps;
  double x = normal(random);
  for (size_t i = 0; i < n; ++i) {
    x = phi * x + std::sqrt(1 - phi * phi) * normal(random);
    steps.push_back(std::llround(kStepNs * std::exp(sd * x + run)));
  }
  return steps;
}

TEST(StepChange, TheBlockIsTheRunsOwn) {
  std::mt19937_64 random(1);
  EXPECT_LT(autocorrelation_time(made_steps(random, 400, 0.02, 0, 0)), 2);
  const double slow = autocorrelation_time(made_steps(random, 400, 0.02, 0.8, 0));
  EXPECT_GT(slow, 4);  // (1 + phi) / (1 - phi) = 9
  EXPECT_LT(slow, 20);
  EXPECT_EQ(autocorrelation_time(std::vector<int64_t>(50, 7)), 1);
}

TEST(StepChange, TheMediansSpreadIsWhatRepeatedRunsShow) {
  for (const double phi : {0.0, 0.6}) {
    std::mt19937_64 random(2);
    double sum = 0;
    double squares = 0;
    double claimed = 0;
    constexpr int kRuns = 60;
    for (int i = 0; i < kRuns; ++i) {
      const MedianStep step = median_step_of(made_steps(random, 100, 0.02, phi, 0));
      const double x = std::log(step.ns / kStepNs);
      sum += x;
      squares += x * x;
      claimed += step.log_sd;
    }
    const double true_sd = std::sqrt(squares / kRuns - sum * sum / kRuns / kRuns);
    EXPECT_GT(claimed / kRuns, 0.8 * true_sd) << phi;
    EXPECT_LT(claimed / kRuns, 2.5 * true_sd) << phi;
  }
}

// Issue 25: a difference within the usual variation between runs is no change.
TEST(StepChange, IntervalsOfEqualProgramsHoldZero) {
  struct Case {
    double phi;
    double run_sd;
    int runs;
    size_t steps;
  };
  for (const Case& c : {Case{0, 0, 1, 30}, Case{0.6, 0, 1, 60}, Case{0.5, 0.005, 1, 60},
                        Case{0.5, 0.02, 5, 30}, Case{0, 0.02, 3, 30}}) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    int outside = 0;
    constexpr int kPairs = 100;
    for (int pair = 0; pair < kPairs; ++pair) {
      std::vector<MedianStep> sides[2];
      for (auto& side : sides) {
        for (int i = 0; i < c.runs; ++i) {
          side.push_back(
              median_step_of(made_steps(random, c.steps, 0.02, c.phi, c.run_sd * normal(random))));
        }
      }
      const StepChange change = change_of(sides[0], sides[1]);
      if (change.least > 0 || change.most < 0) ++outside;
    }
    EXPECT_LE(outside, 9) << c.phi << ' ' << c.run_sd << ' ' << c.runs;
  }
}

TEST(StepChange, ARealChangeIsFoundWithItsSize) {
  std::mt19937_64 random(4);
  const MedianStep a = median_step_of(made_steps(random, 200, 0.01, 0.3, 0));
  const MedianStep b = median_step_of(made_steps(random, 200, 0.01, 0.3, std::log(1.05)));
  const StepChange change = change_of(std::span(&a, 1), std::span(&b, 1));
  EXPECT_GT(change.least, 0.02);
  EXPECT_LT(change.least, 0.05);
  EXPECT_GT(change.most, 0.05);
  EXPECT_NEAR(change.change, 0.05, 0.01);
  EXPECT_TRUE(change.single());
  EXPECT_GT(change.detectable(0.02), 0.02);
}

TEST(StepChange, DriftWithinARunWidensItsInterval) {
  std::vector<int64_t> still;
  std::vector<int64_t> drifts;
  std::mt19937_64 random(5);
  for (const int64_t ns : made_steps(random, 120, 0.01, 0, 0)) {
    still.push_back(ns);
    drifts.push_back(static_cast<int64_t>(static_cast<double>(ns) *
                                          (1 + 0.1 * static_cast<double>(drifts.size()) / 120)));
  }
  EXPECT_GT(median_step_of(drifts).log_sd, 5 * median_step_of(still).log_sd);
}

TEST(StepChange, SpreadOfRunsCountsWhereItIsKnown) {
  const MedianStep run{.ns = kStepNs, .steps = 100, .log_sd = 0.001};
  std::vector<MedianStep> even(4, run);
  std::vector<MedianStep> uneven(4, run);
  for (size_t i = 0; i < uneven.size(); ++i) uneven[i].ns *= 1 + 0.02 * static_cast<double>(i);
  const MedianStep one = run;
  EXPECT_GT(change_of(uneven, std::span(&one, 1)).half_width,
            3 * change_of(even, std::span(&one, 1)).half_width);
}

}  // namespace
}  // namespace dprof::analyzer
