// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/match/test_support/test_run.h"
#include "analyzer/replay/slowdown.h"
#include "analyzer/stragglers/operation_verdicts.h"
#include "analyzer/waits/test_support/matched.h"
#include "base/check.h"

namespace dprof::analyzer {
namespace {

using schema::Marker;
using ::testing::ElementsAre;

constexpr int64_t kOperationMs = 1'000'000;
constexpr int kOperationSteps = 12;
constexpr int kMicro = 4;

// The table of two pipelines of two stages: all forwards, then all backwards, then all ranks meet.
// Ranks 0 and 1 are the first stages. Lengths in ms.
struct Table {
  int64_t first_forward = 10;
  int64_t last_forward = 10;
  int64_t pause = 0;         // before the optimizer, in no row
  int64_t slow_forward = 0;  // extra time of rank 3 alone

  [[nodiscard]] TestRun run() const {
    TestRun run(4);
    run.group({0, 2});
    run.group({1, 3});
    run.group({0, 1, 2, 3});
    for (int64_t s = 0; s < kOperationSteps; ++s) add_step(run, s, s * 1000 * kOperationMs);
    for (RankDigest& digest : run.digests) {
      digest.operations = true;
      digest.span = {{0}, {kOperationSteps * 1000 * kOperationMs}};
      digest.collectives.sort_by_arrival();
    }
    return run;
  }

 private:
  static int64_t compute(TestRun& run, int rank, Marker marker, int64_t from, int64_t ms) {
    std::vector<PhaseRange>& phases = run.digests[static_cast<size_t>(rank)].phases;
    const auto row = static_cast<int64_t>(phases.size()) + 1;
    phases.push_back({{{from}, {from + ms * kOperationMs}}, marker, row});
    return from + ms * kOperationMs;
  }

  static int64_t message(TestRun& run, int pipeline, bool down, int64_t start) {
    for (const int stage : {0, 1}) {
      CollectiveRecords::Edited record = run.message(
          pipeline + 2 * stage, static_cast<size_t>(pipeline), (stage == 0) == down, 1 - stage);
      record.enqueue.reset();
      record.start = TraceNs{start};
      record.end = TraceNs{start + kOperationMs};
    }
    return start + kOperationMs;
  }

  void add_step(TestRun& run, int64_t step, int64_t begin) const {
    int64_t all = begin;
    for (const int pipeline : {0, 1}) {
      int64_t first = begin;
      int64_t last = begin;
      const int64_t more = pipeline == 1 ? slow_forward : 0;
      for (int k = 0; k < kMicro; ++k) {
        first = compute(run, pipeline, Marker::kForward, first, first_forward);
        last = message(run, pipeline, true, std::max(first, last));
        last = compute(run, pipeline + 2, Marker::kForward, last, last_forward + more);
      }
      for (int k = 0; k < kMicro; ++k) {
        last = compute(run, pipeline + 2, Marker::kBackward, last, 2 * last_forward);
        const int64_t arrived = message(run, pipeline, false, std::max(first, last));
        first = compute(run, pipeline, Marker::kBackward, arrived, 2 * first_forward);
      }
      all = std::max({all, first, last});
    }
    for (int rank = 0; rank < 4; ++rank) {
      CollectiveRecords::Edited record = run.call(rank, 2, {});
      record.enqueue.reset();
      record.start = TraceNs{all};
      record.end = TraceNs{all + 2 * kOperationMs};
      const int64_t end =
          compute(run, rank, Marker::kOptimizer, all + (2 + pause) * kOperationMs, 3);
      run.digests[static_cast<size_t>(rank)].steps.push_back({step, {{begin}, {end}}});
    }
  }
};

struct Replayed {
  TestRun run;
  Steps steps;
  OperationRun operations;
};
Replayed replayed(const Table& table) {
  TestRun run = table.run();
  std::vector<Diagnostic> notes;
  std::optional<Steps> steps = align_steps(run.digests, {}, notes);
  DPROF_CHECK(steps.has_value());
  const Matching matching = matched(run.digests, true);
  std::optional<OperationRun> operations = operations_of(run.digests, *steps, matching);
  DPROF_CHECK(operations.has_value());
  return {std::move(run), *std::move(steps), *std::move(operations)};
}

double error_of(const OperationRun& run) {
  const auto ends = run.graph.simulate(run.graph.durations(), run.graph.lags());
  return identity_error(run.steps, step_lengths(run.steps, ends));
}

TEST(OperationsTest, StagesAndReplicasAreFoundByTheMessages) {
  const Replayed r = replayed({});
  EXPECT_EQ(r.operations.pipelines.stages, 2U);
  EXPECT_EQ(r.operations.pipelines.replicas, 2U);
  EXPECT_THAT(r.operations.pipelines.with_stage(0), ElementsAre(0, 1));
  EXPECT_THAT(r.operations.pipelines.with_stage(1), ElementsAre(2, 3));
}

TEST(OperationsTest, UnchangedItIsTheRecordedRun) {
  const Replayed r = replayed({.last_forward = 25});
  EXPECT_DOUBLE_EQ(error_of(r.operations), 0);
  EXPECT_DOUBLE_EQ(unexplained_share(r.operations.graph, r.operations.steps), 0);
}

TEST(OperationsTest, WhatNoRowExplainsIsReported) {
  const Replayed r = replayed({.pause = 20});
  EXPECT_DOUBLE_EQ(error_of(r.operations), 0);
  const auto recorded = static_cast<double>(r.operations.steps.front().recorded_ns);
  EXPECT_NEAR(unexplained_share(r.operations.graph, r.operations.steps),
              20.0 * kOperationMs / recorded, 1e-6);
}

// In the even run both stages take the mean.
TEST(SlowdownTest, OfAnUnevenPipelineIsThatAgainstAnEvenOne) {
  const Replayed uneven = replayed({.first_forward = 10, .last_forward = 30});
  const Replayed even = replayed({.first_forward = 20, .last_forward = 20});
  const Slowdown slowdown = EvenRun(uneven.operations).slowdown(uneven.run.digests, uneven.steps);
  const auto uneven_ns = static_cast<double>(uneven.operations.steps.front().recorded_ns);
  const auto even_ns = static_cast<double>(even.operations.steps.front().recorded_ns);
  EXPECT_NEAR(slowdown.slowdown, uneven_ns / even_ns, 1e-6);
  ASSERT_EQ(slowdown.stages.size(), 2U);
  EXPECT_GT(slowdown.stages[1].slowdown, slowdown.stages[0].slowdown);
  EXPECT_THAT(slowdown.stages[1].ranks, ElementsAre(2, 3));
  const Slowdown none = EvenRun(even.operations).slowdown(even.run.digests, even.steps);
  EXPECT_NEAR(none.slowdown, 1, 1e-9);
}

TEST(OperationVerdictsTest, AStageThatIsTooLongIsNamed) {
  const Replayed r = replayed({.first_forward = 10, .last_forward = 30});
  const auto verdicts = operation_verdicts(r.operations, r.run.digests, r.steps);
  ASSERT_FALSE(verdicts.empty());
  EXPECT_TRUE(verdicts[0].named);
  EXPECT_EQ(verdicts[0].straggler.cause, "stage_imbalance");
  EXPECT_EQ(verdicts[0].straggler.role, "stage 2 of 2");
  EXPECT_THAT(verdicts[0].straggler.host_ranks, ElementsAre(2, 3));
}

TEST(OperationVerdictsTest, ARankSlowerThanTheOtherOfItsStageIsNamed) {
  const Replayed r = replayed({.slow_forward = 15});
  const Replayed without = replayed({});
  const auto verdicts = operation_verdicts(r.operations, r.run.digests, r.steps);
  const auto one =
      std::ranges::find(verdicts, "compute", [](const Verdict& v) { return v.straggler.cause; });
  ASSERT_NE(one, verdicts.end());
  EXPECT_TRUE(one->named);
  EXPECT_EQ(one->straggler.rank, 3);
  const int64_t cost =
      r.operations.steps.front().recorded_ns - without.operations.steps.front().recorded_ns;
  EXPECT_NEAR(static_cast<double>(one->straggler.cost_ns), static_cast<double>(cost), 1);
}

TEST(OperationVerdictsTest, EvenStagesAreNobodysFault) {
  const Replayed r = replayed({});
  EXPECT_TRUE(operation_verdicts(r.operations, r.run.digests, r.steps).empty());
}

}  // namespace
}  // namespace dprof::analyzer
