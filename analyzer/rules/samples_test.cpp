// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/digest/test_support/edit_records.h"
#include "analyzer/rules/test_support/rule_run.h"

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Hashes that depend only on the arguments.
int64_t hash(int64_t a, int64_t b) { return (a + 1) * 1'000'003 + b * 7919; }

TEST(ShardsOverlap, EqualBatches) {
  RuleRun run(3);
  for (int r = 0; r < 3; ++r) run.batches(r, 100, [](int64_t step) { return hash(0, step); });
  const std::vector<Finding> findings = run.of(input_rules(), "input.shards-overlap");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_THAT(findings[0].ranks, ElementsAre(0, 1, 2));
  EXPECT_EQ(findings[0].cost_ns, (2 * RuleRun::kStep + 1) / 3) << "two thirds are repeated";
  EXPECT_THAT(findings[0].detail, HasSubstr("3 times the steps"));
}

TEST(ShardsOverlap, DisjointSharesAndASharedBatch) {
  RuleRun run(2);
  for (int r = 0; r < 2; ++r) run.batches(r, 100, [r](int64_t step) { return hash(r, step); });
  EXPECT_THAT(run.of(input_rules(), "input.shards-overlap"), IsEmpty());
  run.facts(0).batches[3].hash = run.facts(1).batches[3].hash;  // a sampler that pads
  EXPECT_THAT(run.of(input_rules(), "input.shards-overlap"), IsEmpty());
}

TEST(ShardsOverlap, EqualEpochsInAnotherOrder) {
  RuleRun run(2);
  // Each rank shuffles all of the data itself: batches differ, but the epoch's sum is equal.
  run.batches(0, 6, [](int64_t step) { return 100 + 10 * (step % 6); });
  run.batches(1, 6, [](int64_t step) { return 125 + 10 * (step % 6); });
  EXPECT_THAT(run.of(input_rules(), "input.shards-overlap"), IsEmpty()) << "other sums";
  for (BatchFact& batch : run.facts(1).batches)
    batch.hash = *batch.hash + (batch.hash < 150 ? -24 : -26);
  EXPECT_THAT(run.of(input_rules(), "input.shards-overlap"), SizeIs(1))
      << "equal sums of whole epochs";
}

TEST(ShardsOverlap, StagesOfAPipelineMayReadTheSame) {
  RuleRun run(2);
  for (int r = 0; r < 2; ++r) {
    run.batches(r, 100, [](int64_t step) { return hash(0, step); });
    CollectiveRecord message;
    message.function = r == 0 ? schema::Function::kSend : schema::Function::kRecv;
    run.rank(r).collectives.push_back(message);
  }
  EXPECT_THAT(run.of(input_rules(), "input.shards-overlap"), IsEmpty());
}

TEST(ShardsOverlap, TensorParallelRanksMayReadTheSame) {
  RuleRun run(2);
  for (int r = 0; r < 2; ++r) {
    run.batches(r, 100, [](int64_t step) { return hash(0, step); });
    // Each rank's gradients go to a group of its own; the ranks share another group.
    run.rank(r).communicators[0].hash = 10 + r;
    run.rank(r).communicators.push_back(
        {.hash = 99, .ordinal = 0, .name = "tensor", .size = 2, .members = {}, .own_number = r});
    CollectiveRecord record;
    record.communicator = 1;
    record.function = schema::Function::kAllReduce;
    run.rank(r).collectives.push_back(record);
  }
  EXPECT_THAT(run.of(input_rules(), "input.shards-overlap"), IsEmpty());
}

TEST(OrderRepeats, EachEpochIsTheFirstOne) {
  RuleRun run(2);
  for (int r = 0; r < 2; ++r) run.batches(r, 4, [r](int64_t step) { return hash(r, step % 4); });
  const std::vector<Finding> findings = run.of(input_rules(), "input.order-repeats");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_FALSE(findings[0].cost_ns.has_value());
  EXPECT_EQ(findings[0].severity, FindingSeverity::kWarn);
  EXPECT_THAT(findings[0].title, HasSubstr("3 epochs"));
}

TEST(OrderRepeats, SameSamplesInAnotherOrder) {
  RuleRun run(1);
  run.batches(0, 4, [](int64_t step) { return hash(0, (step % 4 + step / 4) % 4); });
  EXPECT_THAT(run.of(input_rules(), "input.order-repeats"), IsEmpty());
}

TEST(OrderRepeats, AnEpochOfTwoBatchesShowsNothing) {
  RuleRun run(1);
  run.batches(0, 2, [](int64_t step) { return hash(0, step % 2); });
  EXPECT_THAT(run.of(input_rules(), "input.order-repeats"), IsEmpty());
}

TEST(OrderRepeats, IsNoOverlap) {
  RuleRun run(2);
  for (int r = 0; r < 2; ++r) run.batches(r, 4, [r](int64_t step) { return hash(r, step % 4); });
  EXPECT_THAT(run.of(input_rules(), "input.shards-overlap"), IsEmpty());
}

// Rank 0 has begun one step more than rank 1, and waits.
RuleRun ended_early() {
  RuleRun run(2);
  run.add_step(0);
  edit_last(run.rank(0).collectives).enqueue = TraceNs{12 * RuleRun::kStep};
  for (int r = 0; r < 2; ++r) run.batches(r, 100, [r](int64_t step) { return hash(r, step); });
  run.report.hang = Hang{.state = "waiting",
                         .culprits = {1},
                         .waiting = {0},
                         .communicator = "default_pg",
                         .function = schema::Function::kAllReduce,
                         .sequence = 12,
                         .reason = "rank 1 never came",
                         .ranks = {}};
  return run;
}

TEST(ShardsUneven, ARankEndsBetweenSteps) {
  const RuleRun run = ended_early();
  const std::vector<Finding> findings = run.of(input_rules(), "input.shards-uneven");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].severity, FindingSeverity::kCritical);
  EXPECT_THAT(findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(run.cause_of("comm.hang"), "input.shards-uneven");
}

TEST(ShardsUneven, ARankThatStoppedWithinAStepDidNotRunOut) {
  RuleRun run = ended_early();
  ++run.rank(1).steps_begun;
  EXPECT_THAT(run.of(input_rules(), "input.shards-uneven"), IsEmpty());
  run = ended_early();
  run.rank(1).phases.pop_back();  // its last step has no update: it left by an error
  EXPECT_THAT(run.of(input_rules(), "input.shards-uneven"), IsEmpty());
  run = ended_early();
  run.facts(1).exit_status = "signal:9";
  EXPECT_THAT(run.of(input_rules(), "input.shards-uneven"), IsEmpty());
  run.facts(1).exit_status = "signal:15";  // the launcher's
  EXPECT_THAT(run.of(input_rules(), "input.shards-uneven"), SizeIs(1));
}

TEST(ShardsUneven, AWaitThatEndedWithATimeoutIsOneAsWell) {
  RuleRun run = ended_early();
  run.report.hang.reset();
  edit_last(run.rank(0).collectives).end = TraceNs{30 * RuleRun::kStep};
  EXPECT_THAT(run.of(input_rules(), "input.shards-uneven"), SizeIs(1));
  edit_last(run.rank(0).collectives).end =
      TraceNs{12 * RuleRun::kStep + kNsPerMs};  // it went on at once
  EXPECT_THAT(run.of(input_rules(), "input.shards-uneven"), IsEmpty());
}

TEST(ShardsUneven, ARankThatWaitsInAnotherCallDidNotRunOut) {
  RuleRun run = ended_early();
  CollectiveRecord barrier;
  barrier.function = schema::Function::kBarrier;
  barrier.enqueue = TraceNs{12 * RuleRun::kStep};
  run.rank(1).collectives.push_back(barrier);
  EXPECT_THAT(run.of(input_rules(), "input.shards-uneven"), IsEmpty());
}

TEST(ShardsUneven, EpochsApart) {
  RuleRun run(2);
  run.batches(0, 6, [](int64_t step) { return hash(0, step); });
  run.batches(1, 4, [](int64_t step) { return hash(1, step); });
  const std::vector<Finding> findings = run.of(input_rules(), "input.shards-uneven");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_THAT(findings[0].ranks, ElementsAre(1));
}

TEST(ShardsUneven, JoinGoesOnWithoutData) {
  RuleRun run(2);
  run.batches(0, 6, [](int64_t step) { return hash(0, step); });
  run.batches(1, 6, [](int64_t step) { return hash(1, step); });
  // Rank 1 has no batch in the last steps of each epoch.
  std::erase_if(run.facts(1).batches, [](const BatchFact& b) { return b.row % 6 == 0; });
  EXPECT_THAT(run.of(input_rules(), "input.shards-uneven"), IsEmpty());
}

}  // namespace
}  // namespace dprof::analyzer
