// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace dprof::trainer_harness {
namespace {

std::vector<int64_t> struck_steps(const std::string& text, int rank, int64_t steps,
                                  int world_size = 2, uint64_t seed = 42) {
  const Fault fault = parse_fault(text);
  FaultScene scene;
  scene.rank = rank;
  scene.world_size = world_size;
  scene.seed = seed;
  std::vector<int64_t> struck;
  for (int64_t step = 0; step < steps; ++step) {
    if (strikes(fault, 0, scene, step)) struck.push_back(step);
  }
  return struck;
}

using Steps = std::vector<int64_t>;

struct ScheduleCase {
  const char* name;
  const char* text;
  int rank;
  Steps want;  // of 12
};

class ScheduleTest : public ::testing::TestWithParam<ScheduleCase> {};

TEST_P(ScheduleTest, StrikesTheseSteps) {
  EXPECT_EQ(struck_steps(GetParam().text, GetParam().rank, 12), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, ScheduleTest,
    ::testing::Values(
        ScheduleCase{"range", "loader:rank=1,ms=2,from=2,to=11,every=4", 1, {2, 6, 10}},
        ScheduleCase{"other_rank", "loader:rank=1,ms=2", 0, {}},
        ScheduleCase{"one_step", "loader:rank=1,ms=2,step=5", 1, {5}},
        ScheduleCase{"all_ranks", "loader:rank=all,ms=2,from=10", 0, {10, 11}},
        ScheduleCase{"rotating_even", "rotating:ms=2", 0, {0, 2, 4, 6, 8, 10}},
        ScheduleCase{"rotating_odd", "rotating:ms=2,from=4", 1, {5, 7, 9, 11}},
        ScheduleCase{"periodic", "periodic:rank=0,ms=2,every=5", 0, {0, 5, 10}},
        ScheduleCase{"onset", "onset:rank=0,ms=2,from=9", 0, {9, 10, 11}},
        ScheduleCase{"contention", "cpu-contention:rank=0,from=1,to=3", 0, {1, 2}},
        ScheduleCase{"kill", "kill:rank=0,step=3", 0, {3}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Schedule, TransientStrikesItsShareOfTheStepsTheSameInEachRun) {
  const Steps struck = struck_steps("transient:rank=0,ms=1,share=0.05", 0, 20'000);
  EXPECT_GT(struck.size(), 850U);  // 1000 +- 4.9 standard deviations of 31
  EXPECT_LT(struck.size(), 1150U);
  EXPECT_EQ(struck, struck_steps("transient:rank=0,ms=1,share=0.05", 0, 20'000));
  EXPECT_NE(struck, struck_steps("transient:rank=0,ms=1,share=0.05", 0, 20'000, 2, 43));
}

TEST(Schedule, GcPausesOfRanksHaveNothingToDoWithEachOther) {
  const Steps zero = struck_steps("gc-pause:ms=1,share=0.5", 0, 1000);
  const Steps one = struck_steps("gc-pause:ms=1,share=0.5", 1, 1000);
  Steps both;
  std::ranges::set_intersection(zero, one, std::back_inserter(both));
  EXPECT_NEAR(static_cast<double>(both.size()), 250, 70);  // 5 standard deviations
}

TEST(Schedule, WhatLostARankDoesNotDoSoAgainAfterTheRestart) {
  FaultScene scene;
  scene.restarted = true;
  EXPECT_FALSE(strikes(parse_fault("kill:rank=0,step=3"), 0, scene, 3));
  EXPECT_FALSE(strikes(parse_fault("crash:rank=0,step=3"), 0, scene, 3));
  EXPECT_TRUE(strikes(parse_fault("forward:rank=0,ms=1,step=3"), 0, scene, 3));
}

}  // namespace
}  // namespace dprof::trainer_harness
