// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/pipeline_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace dprof::trainer_harness {
namespace {

std::vector<size_t> ends(const std::vector<StageBlocks>& parts) {
  std::vector<size_t> ends;
  for (const StageBlocks& part : parts) ends.push_back(part.end);
  return ends;
}

TEST(PipelinePlan, TheMostExpensiveStageIsAsCheapAsCanBe) {
  EXPECT_EQ(ends(cut_into_stages({1, 1, 1, 1}, 2)), (std::vector<size_t>{2, 4}));
  EXPECT_EQ(ends(cut_into_stages({9, 1, 1, 1}, 2)), (std::vector<size_t>{1, 4}));
  EXPECT_EQ(ends(cut_into_stages({1, 1, 1, 9}, 2)), (std::vector<size_t>{3, 4}));
  EXPECT_EQ(ends(cut_into_stages({2, 3, 4, 5, 1}, 3)), (std::vector<size_t>{2, 3, 5}));
}

TEST(PipelinePlan, NoStageIsEmptyEvenOfBlocksThatCostNothing) {
  for (size_t stages = 1; stages <= 5; ++stages) {
    const std::vector<StageBlocks> parts = cut_into_stages({0, 0, 7, 0, 0}, stages);
    ASSERT_EQ(parts.size(), stages);
    size_t next = 0;
    for (const StageBlocks& part : parts) {
      EXPECT_EQ(part.begin, next);
      EXPECT_GT(part.end, part.begin);
      next = part.end;
    }
    EXPECT_EQ(next, 5U);
  }
}

TEST(PipelinePlan, MicroBatchesHoldEverySample) {
  EXPECT_EQ(micro_batch_sizes(8, 4), (std::vector<int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(micro_batch_sizes(10, 4), (std::vector<int64_t>{3, 3, 2, 2}));
  EXPECT_EQ(micro_batch_sizes(3, 4), (std::vector<int64_t>{1, 1, 1}));
}

TEST(PipelinePlan, GpipeDoesAllForwardsFirst) {
  const std::vector<StageTask> want = {{true, 0}, {true, 1}, {false, 0}, {false, 1}};
  EXPECT_EQ(stage_tasks(Schedule::kGpipe, 0, 2, 2), want);
  EXPECT_EQ(stage_tasks(Schedule::kGpipe, 1, 2, 2), want);
}

TEST(PipelinePlan, OneForwardOneBackwardTakesTurns) {
  const std::vector<StageTask> first = {{true, 0}, {true, 1},  {false, 0},
                                        {true, 2}, {false, 1}, {false, 2}};
  EXPECT_EQ(stage_tasks(Schedule::k1F1B, 0, 2, 3), first);
  const std::vector<StageTask> last = {{true, 0},  {false, 0}, {true, 1},
                                       {false, 1}, {true, 2},  {false, 2}};
  EXPECT_EQ(stage_tasks(Schedule::k1F1B, 1, 2, 3), last);
}

// The most activations that a stage keeps: of micro-batches after forward and before backward.
int64_t most_kept(const std::vector<StageTask>& tasks) {
  int64_t kept = 0;
  int64_t most = 0;
  for (const StageTask& task : tasks) {
    kept += task.forward ? 1 : -1;
    most = std::max(most, kept);
  }
  return most;
}

TEST(PipelinePlan, OneForwardOneBackwardKeepsFewActivations) {
  EXPECT_EQ(most_kept(stage_tasks(Schedule::kGpipe, 0, 4, 16)), 16);
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(most_kept(stage_tasks(Schedule::k1F1B, stage, 4, 16)), 4 - stage);
  }
}

TEST(PipelinePlan, EveryMicroBatchGoesForwardAndBackwardOnce) {
  for (const int64_t micro_batches : {1, 2, 3, 8}) {
    for (int stage = 0; stage < 4; ++stage) {
      const std::vector<StageTask> tasks = stage_tasks(Schedule::k1F1B, stage, 4, micro_batches);
      EXPECT_EQ(tasks.size(), static_cast<size_t>(2 * micro_batches));
      for (int64_t i = 0; i < micro_batches; ++i) {
        const auto forward = std::ranges::find(tasks, StageTask{true, i});
        const auto backward = std::ranges::find(tasks, StageTask{false, i});
        ASSERT_NE(backward, tasks.end());
        EXPECT_LT(forward, backward);
      }
    }
  }
}

}  // namespace
}  // namespace dprof::trainer_harness
