// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "analyzer/rules/test_support/comm_run.h"

namespace dprof::analyzer {
namespace {

using schema::Function;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> found_comm_patterns(const RuleRun& run, std::string_view name) {
  std::vector<Finding> findings = run.of(comm_rules(), name);
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.decided_by.empty()) << name;
    EXPECT_FALSE(finding.refuted_by.empty()) << name;
    EXPECT_FALSE(finding.evidence.empty()) << name;
  }
  return findings;
}

// Four micro-batches; `reducing` of their backwards reduce.
CommRun accumulating(int reducing) {
  CommRun run(2, 4);
  for (int b = 4 - reducing; b < 4; ++b) {
    run.collective({.at_ms = 90.0 / 4 * (b + 1) - 1, .transfer_ns = 4 * kNsPerMs, .bucket = 0});
  }
  return run;
}

TEST(SyncEachMicrobatch, EachBackwardReduces) {
  const std::vector<Finding> findings =
      found_comm_patterns(accumulating(4), "comm.sync-each-microbatch");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].cost_ns, 12 * kNsPerMs) << "three of four";
  EXPECT_EQ(findings[0].severity, FindingSeverity::kCritical);
  EXPECT_THAT(findings[0].advice, HasSubstr("first 3 of 4"));
}

TEST(SyncEachMicrobatch, NoSyncReducesInTheLastOnly) {
  EXPECT_THAT(found_comm_patterns(accumulating(1), "comm.sync-each-microbatch"), IsEmpty());
  EXPECT_THAT(found_comm_patterns(accumulating(3), "comm.sync-each-microbatch"), IsEmpty());
  CommRun plain(2);
  plain.collective({});
  EXPECT_THAT(found_comm_patterns(plain, "comm.sync-each-microbatch"), IsEmpty()) << "one backward";
}

TEST(SyncEachMicrobatch, SeveralModelsUpdateAsOften) {
  CommRun run = accumulating(4);
  for (RankDigest& digest : run.digests) {
    std::vector<PhaseRange> more;
    for (const PhaseRange& p : digest.phases) {
      more.push_back(p);
      if (p.marker == schema::Marker::kBackward)
        more.push_back({{p.span.end, {p.span.end.ns + 1}}, schema::Marker::kOptimizer, 1});
    }
    digest.phases = more;
  }
  EXPECT_THAT(found_comm_patterns(run, "comm.sync-each-microbatch"), IsEmpty());
}

TEST(SyncEachMicrobatch, IsTheCauseOfExposedTransfers) {
  EXPECT_EQ(accumulating(4).cause_of("comm.exposed-transfer"), "comm.sync-each-microbatch");
}

TEST(NoGradientSync, BarriersExchangeNothing) {
  CommRun run(3);
  run.collective({.function = Function::kBarrier, .bytes = 0, .at_ms = 99.5});
  const std::vector<Finding> findings = found_comm_patterns(run, "comm.no-gradient-sync");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, FindingSeverity::kCritical);
  EXPECT_EQ(findings[0].cost_ns, std::nullopt);
  EXPECT_THAT(findings[0].ranks, ElementsAre(0, 1, 2));
}

TEST(NoGradientSync, AnyWayOfExchangeIsOne) {
  CommRun reduces(2);
  reduces.collective({.bytes = 16});  // a toy model's gradients, in backward
  EXPECT_THAT(found_comm_patterns(reduces, "comm.no-gradient-sync"), IsEmpty());
  CommRun averages(2);  // parameters, now and then, after the optimizer
  averages.collective({.at_ms = 99.5, .every = 6});
  EXPECT_THAT(found_comm_patterns(averages, "comm.no-gradient-sync"), IsEmpty());
  CommRun sends(2);
  sends.message(0, 1);
  EXPECT_THAT(found_comm_patterns(sends, "comm.no-gradient-sync"), IsEmpty());
}

// As in FSDP2: small reductions in a backward that nothing marks, after an autograd node.
TEST(NoGradientSync, BackwardMayBeUnmarked) {
  CommRun run(2);
  run.collective({.function = Function::kReduceScatter, .bytes = 400, .at_ms = 80});
  for (int r = 0; r < 2; ++r) {
    run.without_phase(r, schema::Marker::kBackward);
    run.without_phase(r, schema::Marker::kStep);
  }
  ASSERT_THAT(found_comm_patterns(run, "comm.no-gradient-sync"), SizeIs(1)) << "no node, no hint";
  for (RankDigest& digest : run.digests) {
    for (const StepRecord& step : digest.steps) {
      const TraceNs begin = step.window.begin + DurationNs{60 * kNsPerMs};
      digest.autograd.push_back({begin, begin + DurationNs{kNsPerMs}});
    }
  }
  EXPECT_THAT(found_comm_patterns(run, "comm.no-gradient-sync"), IsEmpty());
}

TEST(NoGradientSync, WhatIsNotRecordedProvesNothing) {
  CommRun light(2);
  for (TraceFile& trace : light.traces) trace.detail = "light";
  EXPECT_THAT(found_comm_patterns(light, "comm.no-gradient-sync"), IsEmpty());
  CommRun lossy(2);
  lossy.rank(0).losses.push_back({schema::Source::kTorch, schema::LossReason::kRingFull, 5});
  EXPECT_THAT(found_comm_patterns(lossy, "comm.no-gradient-sync"), IsEmpty());
  CommRun server(2);  // one rank that does not train
  server.without_phase(1, schema::Marker::kOptimizer);
  EXPECT_THAT(found_comm_patterns(server, "comm.no-gradient-sync"), IsEmpty());
}

TEST(NeedlessBarrier, InEachStep) {
  CommRun run(2);
  run.collective({.bucket = 0});
  run.collective({.function = Function::kBarrier,
                  .bytes = 0,
                  .at_ms = 99.5,
                  .transfer_ns = kNsPerMs,
                  .wait_ns = 3 * kNsPerMs});
  const std::vector<Finding> findings = found_comm_patterns(run, "comm.needless-barrier");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].cost_ns, 4 * kNsPerMs);
  EXPECT_EQ(findings[0].severity, FindingSeverity::kWarn);
}

TEST(NeedlessBarrier, NowAndThenCostsNothing) {
  CommRun run(2);
  run.collective({.function = Function::kBarrier, .bytes = 0, .at_ms = 99.5, .every = 6});
  EXPECT_THAT(found_comm_patterns(run, "comm.needless-barrier"), IsEmpty());
}

TEST(NeedlessBarrier, ALateRankIsItsCause) {
  CommRun run(2);
  run.collective({.transfer_ns = 0, .bucket = 0});
  run.collective({.function = Function::kBarrier,
                  .bytes = 0,
                  .at_ms = 99.5,
                  .transfer_ns = 0,
                  .wait_ns = 3 * kNsPerMs});
  Verdict verdict;
  verdict.straggler.rank = 1;
  verdict.straggler.shape = "persistent";
  verdict.straggler.cause = "compute";
  verdict.straggler.cost_ns = 20 * kNsPerMs;
  verdict.straggler.confidence = 0.9;
  verdict.named = true;
  run.verdicts.push_back(verdict);
  EXPECT_EQ(run.cause_of("comm.needless-barrier"), "balance.straggler");
}

TEST(BufferBroadcast, InEachForward) {
  CommRun run(2);
  run.collective({.bucket = 0});
  run.collective(
      {.function = Function::kBroadcast, .bytes = 4096, .at_ms = 1, .transfer_ns = 2 * kNsPerMs});
  ASSERT_THAT(found_comm_patterns(run, "comm.buffer-broadcast"), SizeIs(1));
  EXPECT_EQ(found_comm_patterns(run, "comm.buffer-broadcast")[0].cost_ns, 2 * kNsPerMs);
  CommRun zero(2);  // parameters, after the optimizer
  zero.collective({.function = Function::kBroadcast, .at_ms = 99.5, .transfer_ns = 5 * kNsPerMs});
  EXPECT_THAT(found_comm_patterns(zero, "comm.buffer-broadcast"), IsEmpty());
}

TEST(SmallCollectives, TwoMetricsAStep) {
  CommRun run(2);
  run.collective({.bytes = 8, .at_ms = 99.2, .transfer_ns = kNsPerMs});
  EXPECT_THAT(found_comm_patterns(run, "comm.small-collectives"), IsEmpty()) << "one";
  run.collective(
      {.function = Function::kAllGather, .bytes = 8, .at_ms = 99.5, .transfer_ns = kNsPerMs});
  ASSERT_THAT(found_comm_patterns(run, "comm.small-collectives"), SizeIs(1));
  EXPECT_EQ(found_comm_patterns(run, "comm.small-collectives")[0].cost_ns, 2 * kNsPerMs);
  CommRun tensor(4);  // two communicators, one call each
  for (const std::vector<int>& ranks : {std::vector{0, 1}, std::vector{2, 3}})
    tensor.collective({.bytes = 8, .at_ms = 99.2, .transfer_ns = 3 * kNsPerMs, .ranks = ranks});
  EXPECT_THAT(found_comm_patterns(tensor, "comm.small-collectives"), IsEmpty()) << "one a rank";
  for (const std::vector<int>& ranks : {std::vector{0, 1}, std::vector{2, 3}})
    tensor.collective({.bytes = 16, .at_ms = 99.5, .transfer_ns = kNsPerMs, .ranks = ranks});
  ASSERT_THAT(found_comm_patterns(tensor, "comm.small-collectives"), SizeIs(1));
  EXPECT_EQ(found_comm_patterns(tensor, "comm.small-collectives")[0].cost_ns, 4 * kNsPerMs);
  CommRun norm(2);  // synchronised batch normalisation, in forward
  norm.collective({.bytes = 64, .at_ms = 5});
  norm.collective({.bytes = 64, .at_ms = 6});
  EXPECT_THAT(found_comm_patterns(norm, "comm.small-collectives"), IsEmpty());
}

TEST(GatherExposed, InForwardOnly) {
  CommRun run(2);
  run.collective({.function = Function::kAllGather, .at_ms = 5, .transfer_ns = 6 * kNsPerMs});
  ASSERT_THAT(found_comm_patterns(run, "comm.gather-exposed"), SizeIs(1));
  EXPECT_EQ(found_comm_patterns(run, "comm.gather-exposed")[0].cost_ns, 6 * kNsPerMs);
  EXPECT_EQ(run.cause_of("comm.exposed-transfer"), "comm.gather-exposed");
  CommRun zero2(2);
  zero2.collective({.function = Function::kAllGather, .at_ms = 99.5, .transfer_ns = 6 * kNsPerMs});
  EXPECT_THAT(found_comm_patterns(zero2, "comm.gather-exposed"), IsEmpty());
}

TEST(AllToAllImbalance, OneRankGivesMost) {
  CommRun run(4);
  run.collective({.function = Function::kAllToAll, .at_ms = 5, .wait_ns = 3 * kNsPerMs});
  EXPECT_THAT(found_comm_patterns(run, "comm.all-to-all-imbalance"), IsEmpty()) << "even";
  run.rank(2).collectives.edit_all([](CollectiveRecord& record) { record.bytes = 3 << 20; });
  const std::vector<Finding> findings = found_comm_patterns(run, "comm.all-to-all-imbalance");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].title, HasSubstr("rank 2"));
  EXPECT_EQ(findings[0].cost_ns, 3 * kNsPerMs + kNsPerMs / 2) << "twice the mean";
}

}  // namespace
}  // namespace dprof::analyzer
