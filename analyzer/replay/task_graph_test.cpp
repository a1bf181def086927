// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/task_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/replay/step_lengths.h"

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;

TEST(TaskGraphTest, ATaskBeginsWhenAllBeforeItAreOver) {
  TaskGraph graph;
  const TaskId a = graph.add({.duration_ns = 10, .release_ns = 100});
  const TaskId b = graph.add({.duration_ns = 30, .release_ns = 100});
  const TaskId both = graph.add({.duration_ns = 5});
  graph.after(both, a);
  graph.after(both, b);
  ASSERT_TRUE(graph.settle().has_value());
  EXPECT_THAT(graph.simulate(graph.durations(), {}), ElementsAre(110, 130, 135));
  std::vector<int64_t> shorter = graph.durations();
  shorter[b] = 1;
  EXPECT_THAT(graph.simulate(shorter, {}), ElementsAre(110, 101, 115));
}

TEST(TaskGraphTest, LagsAreKeptWhereTheyAreWanted) {
  TaskGraph graph;
  const TaskId a = graph.add({.duration_ns = 10, .release_ns = 0});
  const TaskId b = graph.add({.duration_ns = 10, .lag_ns = 7});
  graph.after(b, a);
  ASSERT_TRUE(graph.settle().has_value());
  EXPECT_EQ(graph.simulate(graph.durations(), graph.lags())[b], 27);
  EXPECT_EQ(graph.simulate(graph.durations(), {})[b], 20);
}

TEST(TaskGraphTest, ACircleIsRefused) {
  TaskGraph graph;
  const TaskId a = graph.add({});
  const TaskId b = graph.add({});
  graph.after(a, b);
  graph.after(b, a);
  EXPECT_FALSE(graph.settle().has_value());
}

TEST(StepLengthsTest, StepsFollowEachOtherOrBeginByThemselves) {
  const std::vector<int64_t> ends = {110, 250, 240};
  const std::vector<ReplayedStep> follow = {
      {.step = 0, .begin_ns = 10, .recorded_ns = 100, .last = {0}},
      {.step = 1, .begin_ns = {}, .recorded_ns = 140, .last = {1, 2}}};
  EXPECT_THAT(step_lengths(follow, ends), ElementsAre(100, 140));
  const std::vector<ReplayedStep> apart = {
      {.step = 0, .begin_ns = 10, .recorded_ns = 100, .last = {0}},
      {.step = 1, .begin_ns = 200, .recorded_ns = 140, .last = {1, 2}}};
  EXPECT_THAT(step_lengths(apart, ends), ElementsAre(100, 50));
  EXPECT_DOUBLE_EQ(identity_error(follow, step_lengths(follow, ends)), 0);
  EXPECT_DOUBLE_EQ(identity_error(apart, step_lengths(apart, ends)), 90.0 / 140 / 2);
}

// A replay that kept every recorded begin as a lag would be exact and predict nothing.
TEST(StepLengthsTest, LongLagsCountAsUnexplainedAndShortOnesDoNot) {
  TaskGraph graph;
  const TaskId work = graph.add({.duration_ns = 6'000'000, .release_ns = 0});
  const TaskId late = graph.add({.duration_ns = 2'000'000, .lag_ns = 2'000'000});
  const TaskId usual = graph.add({.duration_ns = 0, .lag_ns = 1'000'000});
  graph.after(late, work);
  graph.after(usual, late);
  ASSERT_TRUE(graph.settle().has_value());
  const std::vector<ReplayedStep> steps = {
      {.step = 0, .begin_ns = 0, .recorded_ns = 11'000'000, .last = {usual}}};
  const auto ends = graph.simulate(graph.durations(), graph.lags());
  EXPECT_DOUBLE_EQ(identity_error(steps, step_lengths(steps, ends)), 0);
  EXPECT_DOUBLE_EQ(unexplained_share(graph, steps), 2.0 / 11);
}

}  // namespace
}  // namespace dprof::analyzer
