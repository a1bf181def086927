// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/rules/test_support/comm_run.h"

namespace dprof::analyzer {
namespace {

using schema::Function;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> found_comm_backward(const RuleRun& run, std::string_view name) {
  return run.of(comm_rules(), name);
}

// Backward, from 40 to 90 ms, computes except for 55 to 60 and 70 to 75 ms, when it waits for a
// reduction. A third reduction follows at its end.
CommRun waiting() {
  CommRun run(2);
  run.collective({.at_ms = 55, .transfer_ns = 5 * kNsPerMs});
  run.collective({.at_ms = 70, .transfer_ns = 5 * kNsPerMs});
  run.collective({.at_ms = 89, .transfer_ns = 5 * kNsPerMs});
  for (int r = 0; r < 2; ++r) {
    RankDigest& digest = run.rank(r);
    digest.autograd.clear();
    for (const StepRecord& step : digest.steps) {
      const int64_t begin = step.window.begin.ns;
      for (const auto& [from, to] : {std::pair(40, 55), std::pair(60, 70), std::pair(75, 89)})
        digest.autograd.push_back({{begin + from * kNsPerMs}, {begin + to * kNsPerMs}});
    }
  }
  return run;
}

TEST(BlockingWait, BackwardWaitsForEachReduction) {
  CommRun run = waiting();
  const std::vector<Finding> findings = found_comm_backward(run, "comm.blocking-wait");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].cost_ns, 10 * kNsPerMs) << "the last one has nothing to hide behind";
  EXPECT_EQ(findings[0].evidence[0].table, "collective");
  EXPECT_EQ(run.cause_of("comm.exposed-transfer"), "comm.blocking-wait");
}

TEST(BlockingWait, WaitingForOthersIsNoTransfer) {
  CommRun run = waiting();
  for (Instance& instance : run.matching->instances) instance.transfer_ns = 2 * kNsPerMs;
  EXPECT_EQ(found_comm_backward(run, "comm.blocking-wait").at(0).cost_ns, 4 * kNsPerMs);
}

TEST(BlockingWait, NotWhereComputationGoesOn) {
  CommRun run = waiting();
  for (RankDigest& digest : run.digests) {
    digest.autograd.clear();
    for (const StepRecord& step : digest.steps) {
      const int64_t begin = step.window.begin.ns;
      digest.autograd.push_back({{begin + 40 * kNsPerMs}, {begin + 89 * kNsPerMs}});
    }
  }
  EXPECT_THAT(found_comm_backward(run, "comm.blocking-wait"), IsEmpty());
}

TEST(BlockingWait, NotWhereBackwardHasNothingLeftToCompute) {
  CommRun run(2);
  for (const double at : {80.0, 83.0, 86.0})
    run.collective({.at_ms = at, .transfer_ns = 3 * kNsPerMs});
  for (RankDigest& digest : run.digests) {
    digest.autograd.clear();
    for (const StepRecord& step : digest.steps) {
      const int64_t begin = step.window.begin.ns;
      digest.autograd.push_back({{begin + 40 * kNsPerMs}, {begin + 80 * kNsPerMs}});
    }
  }
  EXPECT_THAT(found_comm_backward(run, "comm.blocking-wait"), IsEmpty());
}

TEST(BlockingWait, NotWhereForwardExchangesTensorsToo) {
  CommRun run = waiting();
  run.collective({.at_ms = 20});
  EXPECT_THAT(found_comm_backward(run, "comm.blocking-wait"), IsEmpty()) << "tensor parallelism";
  CommRun unmarked = waiting();
  unmarked.collective({.bytes = 64, .at_ms = 20});
  for (int r = 0; r < 2; ++r) unmarked.without_phase(r, schema::Marker::kForward);
  EXPECT_THAT(found_comm_backward(unmarked, "comm.blocking-wait"), IsEmpty())
      << "it may be in forward";
  CommRun metric = waiting();
  metric.collective({.bytes = 64, .at_ms = 99.5});
  EXPECT_THAT(found_comm_backward(metric, "comm.blocking-wait"), SizeIs(1));
  CommRun buffers = waiting();
  buffers.collective({.function = Function::kBroadcast, .at_ms = 1});
  EXPECT_THAT(found_comm_backward(buffers, "comm.blocking-wait"), SizeIs(1))
      << "buffers do not belong to it";
}

TEST(BlockingWait, HangsBelowGlooOnAGpu) {
  CommRun run = waiting();
  for (RankDigest& digest : run.digests) {
    digest.gpu.devices.resize(1);
    Lattice& pieces = run.pieces.emplace_back();
    for (const Interval& kernel : digest.autograd)
      pieces.push_back({kernel, Category::kBackward, Category::kBackward});
  }
  ASSERT_THAT(found_comm_backward(run, "comm.blocking-wait"), SizeIs(1));
  EXPECT_EQ(found_comm_backward(run, "comm.blocking-wait")[0].cost_ns, 10 * kNsPerMs);
  EXPECT_EQ(run.cause_of("comm.blocking-wait"), "comm.gloo-on-gpu");
}

TEST(BucketCopies, TheirTimeOnTheHost) {
  CommRun run(2);
  run.call_all(CallKind::kBucketCopy, 40, kNsPerMs / 10);
  const std::vector<Finding> findings = found_comm_backward(run, "comm.bucket-copies");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].cost_ns, 4 * kNsPerMs);
  EXPECT_THAT(findings[0].detail, HasSubstr("40 such copies per step"));
  EXPECT_THAT(findings[0].ranks, ElementsAre(0, 1));
}

TEST(BucketCopies, OnADeviceItsTimeCounts) {
  CommRun run(2);
  run.call_all(CallKind::kBucketCopy, 40, kNsPerMs / 10);
  for (RankDigest& digest : run.digests) {
    digest.facts.has_gpu = true;
    digest.facts.bucket_copies = {.count = 40 * CommRun::kSteps,
                                  .total_ns = 2 * kNsPerMs * CommRun::kSteps};
  }
  EXPECT_EQ(found_comm_backward(run, "comm.bucket-copies").at(0).cost_ns, 2 * kNsPerMs);
  for (RankDigest& digest : run.digests) digest.facts.bucket_copies.total_ns /= 4;
  EXPECT_THAT(found_comm_backward(run, "comm.bucket-copies"), IsEmpty()) << "below 1 %";
}

TEST(BucketCopies, NoneWhereGradientsAreViews) {
  EXPECT_THAT(found_comm_backward(CommRun(2), "comm.bucket-copies"), IsEmpty());
}

}  // namespace
}  // namespace dprof::analyzer
