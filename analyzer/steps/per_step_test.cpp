// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/per_step.h"

#include <gtest/gtest.h>

namespace dprof::analyzer {
namespace {

// Ranks 0 and 2 of three digests have steps of 100 ns, each 10 ns after the former; rank 2 is
// 1000 ns later. The first two of five are not steady.
Steps five_steps() {
  Steps steps;
  steps.ranks = {0, 2};
  for (int64_t s = 0; s < 5; ++s) {
    AlignedStep step{.index = s, .windows = {}};
    for (const int64_t offset : {0, 1000}) {
      const int64_t begin = offset + s * 110;
      step.windows.push_back({{begin}, {begin + 100}});
    }
    steps.steps.push_back(std::move(step));
  }
  steps.first_steady = 2;
  steps.last_steady = 4;
  return steps;
}

TEST(StepsByTimeTest, FindsTheStepByTheWindowsOfTheRank) {
  const std::optional<Steps> steps = five_steps();
  const StepsByTime steady(steps, 3);
  EXPECT_EQ(steady.count(), 3U);
  EXPECT_EQ(steady.at(0, {219}), std::nullopt) << "before the steady ones";
  EXPECT_EQ(steady.at(0, {220}), 0U);
  EXPECT_EQ(steady.at(0, {319}), 0U);
  EXPECT_EQ(steady.at(0, {320}), std::nullopt) << "between two";
  EXPECT_EQ(steady.at(0, {440}), 2U);
  EXPECT_EQ(steady.at(0, {10'000}), std::nullopt);
  EXPECT_EQ(steady.at(2, {1220}), 0U);
  EXPECT_EQ(steady.at(1, {220}), std::nullopt);
}

TEST(StepsByTimeTest, WithoutStepsNothingIsInOne) {
  const StepsByTime steady({}, 2);
  EXPECT_EQ(steady.count(), 0U);
  EXPECT_EQ(steady.at(0, {5}), std::nullopt);
}

TEST(StepCountTest, MedianCountsStepsWithoutAny) {
  StepCount count;
  EXPECT_EQ(count.median_of(0), std::nullopt);
  EXPECT_EQ(count.median_of(3), 0);
  for (int i = 0; i < 4; ++i) count.add(0);
  count.add(std::nullopt);
  EXPECT_EQ(count.median_of(1), 4);
  EXPECT_EQ(count.median_of(2), 2);
  EXPECT_EQ(count.median_of(3), 0);
  for (int i = 0; i < 3; ++i) count.add(1);
  EXPECT_EQ(count.median_of(2), 3.5);
  EXPECT_EQ(count.median_of(3), 3);
}

}  // namespace
}  // namespace dprof::analyzer
