// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/rules/test_support/rule_run.h"

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> found_input(const RuleRun& run, std::string_view name) {
  return run.of(input_rules(), name);
}

TEST(InputBound, MostRanksWait) {
  RuleRun run(3);
  run.set(0, Category::kInputWait, 20 * kNsPerMs);
  EXPECT_THAT(found_input(run, "input.bound"), IsEmpty()) << "one rank that waits is a straggler";
  run.set(1, Category::kInputWait, 20 * kNsPerMs);
  const std::vector<Finding> findings = found_input(run, "input.bound");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].cost_ns, 20 * kNsPerMs);
  EXPECT_EQ(findings[0].severity, FindingSeverity::kCritical);
  EXPECT_THAT(findings[0].ranks, ElementsAre(0, 1));
  run.set_all(Category::kInputWait, 4 * kNsPerMs);
  EXPECT_THAT(found_input(run, "input.bound"), IsEmpty()) << "below 5 %";
}

RuleRun without_workers() {
  RuleRun run(2);
  run.set_all(Category::kInputWait, 8 * kNsPerMs);
  for (int r = 0; r < 2; ++r) {
    run.batches(r, 100, [&](int64_t step) { return int64_t{1000} * r + step; });
    for (BatchFact& batch : run.facts(r).batches) batch.queue_depth = 0;
    run.rank(r).phases.push_back(
        {{{3 * RuleRun::kStep}, {3 * RuleRun::kStep + 8 * kNsPerMs}}, schema::Marker::kInput, 7});
  }
  return run;
}

TEST(InputSingleProcess, NoBatchIsEverReady) {
  RuleRun run = without_workers();
  const std::vector<Finding> findings = found_input(run, "input.single-process");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].cost_ns, 8 * kNsPerMs);
  EXPECT_EQ(run.cause_of("input.bound"), "input.single-process") << "one cause is one finding";
}

TEST(InputSingleProcess, BusyWorkersThatDoNotKeepUpAreNone) {
  RuleRun run = without_workers();
  for (int r = 0; r < 2; ++r)
    run.facts(r).threads.push_back({.os_tid = 5, .cpu_ns = 4 * RuleRun::kStep});
  EXPECT_THAT(found_input(run, "input.single-process"), IsEmpty());
  EXPECT_THAT(found_input(run, "input.bound"), SizeIs(1));
}

TEST(InputSingleProcess, PytorchsIteratorSaysIt) {
  RuleRun run(2);
  run.set_all(Category::kInputWait, 8 * kNsPerMs);
  for (int r = 0; r < 2; ++r) run.facts(r).single_process_loads = 12;
  EXPECT_EQ(found_input(run, "input.single-process").size(), 1U);
  for (int r = 0; r < 2; ++r) run.facts(r).worker_loads = 12;
  EXPECT_THAT(found_input(run, "input.single-process"), IsEmpty());
}

TEST(InputSingleProcess, OneSlowRankIsAStraggler) {
  RuleRun run = without_workers();
  run.set(0, Category::kInputWait, kNsPerMs);
  EXPECT_THAT(found_input(run, "input.single-process"), IsEmpty());
}

TEST(InputPageableCopies, NamesTell) {
  RuleRun run(1);
  run.set_detail_all("copy.h2d", 4 * kNsPerMs);
  HostCopies& copies = run.facts(0).host_copies;
  copies = {.count = 20,
            .pageable = 10,
            .pageable_bytes = 1'000'000,
            .pageable_ns = 1'000'000,
            .pinned = 10,
            .pinned_bytes = 500'000,
            .pinned_ns = 100'000};
  const std::vector<Finding> findings = found_input(run, "input.pageable-copies");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_THAT(findings[0].detail, HasSubstr("less than 60 %"));
  std::swap(copies.pageable_bytes, copies.pinned_bytes);
  EXPECT_THAT(found_input(run, "input.pageable-copies"), IsEmpty()) << "most bytes are pinned";
}

TEST(InputPageableCopies, OrTheCallThatWaits) {
  RuleRun run(1);
  run.set_detail_all("copy.h2d", 4 * kNsPerMs);
  run.facts(0).host_copies = {.count = 20, .sampled = 10, .held_host_up = 10};
  EXPECT_THAT(found_input(run, "input.pageable-copies"), SizeIs(1));
  run.facts(0).host_copies.held_host_up = 5;
  EXPECT_THAT(found_input(run, "input.pageable-copies"), IsEmpty());
}

TEST(InputPageableCopies, HiddenOnesCostNothing) {
  RuleRun run(1);
  run.set_detail_all("copy.h2d", kNsPerMs / 2);
  run.facts(0).host_copies = {.count = 20, .sampled = 10, .held_host_up = 10};
  EXPECT_THAT(found_input(run, "input.pageable-copies"), IsEmpty());
}

TEST(InputEpochRestart, FirstBatchesTakeLong) {
  RuleRun run(2);
  for (int r = 0; r < 2; ++r) {
    run.batches(r, 4, [](int64_t step) { return step; });
    for (size_t b = 0; b < RuleRun::kSteps; b += 4) run.facts(r).batches[b].wait_ns = 61 * kNsPerMs;
  }
  const std::vector<Finding> findings = found_input(run, "input.epoch-restart");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].cost_ns, 120 * kNsPerMs / 12) << "the run's first start does not count";
  for (int r = 0; r < 2; ++r) {
    for (BatchFact& batch : run.facts(r).batches) batch.wait_ns = 61 * kNsPerMs;
  }
  EXPECT_THAT(found_input(run, "input.epoch-restart"), IsEmpty()) << "every batch takes that long";
}

TEST(InputEpochRestart, IsTheCauseOfAMeanWait) {
  RuleRun run(2);
  run.set_all(Category::kInputWait, 12 * kNsPerMs);
  for (int r = 0; r < 2; ++r) {
    run.batches(r, 4, [](int64_t step) { return step; });
    for (size_t b = 0; b < RuleRun::kSteps; b += 4) run.facts(r).batches[b].wait_ns = 61 * kNsPerMs;
  }
  EXPECT_EQ(run.cause_of("input.bound"), "input.epoch-restart");
}

TEST(InputCpuOversubscription, OwnThreadsTakeTheCore) {
  RuleRun run(2);
  run.set_detail_all("host.preempted", 6 * kNsPerMs);
  run.set_detail_all("compute.runnable", 2 * kNsPerMs);
  EXPECT_THAT(found_input(run, "input.cpu-oversubscription"), IsEmpty()) << "somebody else's work";
  for (int r = 0; r < 2; ++r) {
    for (int64_t t = 0; t < 4; ++t)
      run.facts(r).threads.push_back(
          {.os_tid = t, .role = schema::ThreadRole::kLoader, .cpu_ns = 6 * RuleRun::kStep});
  }
  const std::vector<Finding> findings = found_input(run, "input.cpu-oversubscription");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].cost_ns, 8 * kNsPerMs);
  for (int r = 0; r < 2; ++r) {
    for (ThreadFact& thread : run.facts(r).threads)
      thread.role = schema::ThreadRole::kCommunication;
  }
  EXPECT_THAT(found_input(run, "input.cpu-oversubscription"), IsEmpty()) << "not workers";
}

}  // namespace
}  // namespace dprof::analyzer
