// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/rules/test_support/comm_run.h"

namespace dprof::analyzer {
namespace {

using schema::Function;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int64_t kMiB = 1 << 20;

std::vector<Finding> found_comm(const RuleRun& run, std::string_view name) {
  std::vector<Finding> findings = run.of(comm_rules(), name);
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.decided_by.empty()) << name;
    EXPECT_FALSE(finding.refuted_by.empty()) << name;
    EXPECT_FALSE(finding.evidence.empty()) << name;
  }
  return findings;
}

// Two buckets, the second one exposed.
CommRun bucketed(int64_t first_ns, int64_t last_ns) {
  CommRun run(2);
  run.collective({.at_ms = 60, .transfer_ns = first_ns, .bucket = 0});
  run.collective({.at_ms = 89, .transfer_ns = last_ns, .bucket = 1});
  run.report.buckets.emplace();
  run.report.buckets->buckets = {
      {.bucket = 0, .bytes = kMiB, .n = 10, .transfer_ns = first_ns, .exposed_ns = first_ns},
      {.bucket = 1, .bytes = 25 * kMiB, .n = 10, .transfer_ns = last_ns, .exposed_ns = last_ns}};
  return run;
}

TEST(ExposedTail, TheLastBucketIsTheTrouble) {
  CommRun run = bucketed(kNsPerMs, 5 * kNsPerMs);
  ASSERT_THAT(found_comm(run, "comm.exposed-tail"), SizeIs(1));
  EXPECT_EQ(found_comm(run, "comm.exposed-tail")[0].cost_ns, 5 * kNsPerMs) << "an upper bound";
  run.report.buckets->present_exposed_ns = 6 * kNsPerMs;
  run.report.buckets->caps = {
      {.cap_bytes = 5 * kMiB, .buckets = 6, .exposed_ns = 2 * kNsPerMs},
      {.cap_bytes = std::nullopt, .buckets = 1, .exposed_ns = 8 * kNsPerMs}};
  const std::vector<Finding> findings = found_comm(run, "comm.exposed-tail");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].cost_ns, 4 * kNsPerMs) << "by the model";
  EXPECT_THAT(findings[0].advice, HasSubstr("bucket_cap_mb=5 (now 2 buckets)"));
  EXPECT_EQ(run.cause_of("comm.exposed-transfer"), "comm.exposed-tail");
}

TEST(ExposedTail, WaitingForAStragglerIsNoTransfer) {
  CommRun run = bucketed(kNsPerMs, 5 * kNsPerMs);
  BucketSummary& last = run.report.buckets->buckets.back();
  last.wait_ns = 20 * kNsPerMs;
  last.exposed_ns += last.wait_ns;
  ASSERT_THAT(found_comm(run, "comm.exposed-tail"), SizeIs(1));
  EXPECT_EQ(found_comm(run, "comm.exposed-tail")[0].cost_ns, 5 * kNsPerMs) << "as without it";
  last.transfer_ns = kNsPerMs;
  last.exposed_ns = last.wait_ns + last.transfer_ns;
  EXPECT_THAT(found_comm(run, "comm.exposed-tail"), IsEmpty()) << "transfers are below 3 %";
}

TEST(ExposedTail, NotWhereAllBucketsAreExposed) {
  EXPECT_THAT(found_comm(bucketed(5 * kNsPerMs, 4 * kNsPerMs), "comm.exposed-tail"), IsEmpty());
  EXPECT_THAT(found_comm(bucketed(0, 2 * kNsPerMs), "comm.exposed-tail"), IsEmpty()) << "below 3 %";
}

// All-reduces with 0.8 ms of latency, which reach half of the bandwidth at 100 kB.
LinkFit slow_to_begin(const std::string& communicator) {
  return {.communicator = communicator,
          .function = Function::kAllReduce,
          .sizes = 3,
          .n = 100,
          .alpha_ns = 800'000,
          .beta_ns_per_byte = 1,
          .half_bytes = 100'000};
}

TEST(SmallMessages, LatencyOfMany) {
  CommRun run(2);
  for (int i = 0; i < 8; ++i) run.collective({.bytes = 4096, .at_ms = 50.0 + i});
  run.report.link_fits = {slow_to_begin("default_pg")};
  ASSERT_THAT(found_comm(run, "comm.small-messages"), SizeIs(1));
  EXPECT_EQ(found_comm(run, "comm.small-messages")[0].cost_ns, 5'600'000) << "seven of eight";
  run.report.link_fits->front().half_bytes = 1000;
  EXPECT_THAT(found_comm(run, "comm.small-messages"), IsEmpty()) << "bandwidth decides";
  run.report.link_fits.reset();
  EXPECT_THAT(found_comm(run, "comm.small-messages"), IsEmpty()) << "nothing is fitted";
}

TEST(LinkSaturated, TransfersOutlastBackward) {
  CommRun run(2);
  run.set_all(Category::kBackward, 20 * kNsPerMs);
  run.collective({.transfer_ns = 30 * kNsPerMs, .bucket = 0});
  EXPECT_THAT(found_comm(run, "comm.link-saturated"), IsEmpty()) << "efficiency unknown";
  run.summary().efficiency = 0.9;
  ASSERT_THAT(found_comm(run, "comm.link-saturated"), SizeIs(1));
  EXPECT_EQ(found_comm(run, "comm.link-saturated")[0].cost_ns, 15 * kNsPerMs)
      << "half of the bytes";
  run.summary().efficiency = 0.5;
  EXPECT_THAT(found_comm(run, "comm.link-saturated"), IsEmpty()) << "slow, but not full";
  run.summary().efficiency = 0.9;
  run.set_all(Category::kBackward, 40 * kNsPerMs);
  EXPECT_THAT(found_comm(run, "comm.link-saturated"), IsEmpty()) << "backward could hide it";
}

TEST(LinkSaturated, EachRankHasTheTransfersOfItsOwnCommunicatorsOnly) {
  CommRun run(4);
  run.set_all(Category::kBackward, 20 * kNsPerMs);
  for (const std::vector<int>& ranks : {std::vector{0, 1}, std::vector{2, 3}}) {
    run.collective({.transfer_ns = 15 * kNsPerMs, .ranks = ranks});
    run.summary().efficiency = 0.9;
  }
  EXPECT_THAT(found_comm(run, "comm.link-saturated"), IsEmpty()) << "15 ms, not 30";
}

TEST(SmallMessages, EachRankHasTheLatencyOfItsOwnCommunicatorsOnly) {
  CommRun run(8);
  for (int first = 0; first < 8; first += 2)
    run.collective({.bytes = 4096, .at_ms = 50, .ranks = {first, first + 1}});
  run.report.link_fits = {slow_to_begin("tensor")};
  EXPECT_THAT(found_comm(run, "comm.small-messages"), IsEmpty()) << "one a rank";
}

TEST(NoOverlap, WhatCouldHaveBeenHidden) {
  CommRun run(2);
  run.collective({.transfer_ns = 10 * kNsPerMs, .bucket = 0});
  EXPECT_THAT(found_comm(run, "comm.no-overlap"), IsEmpty()) << "nothing was left to hide it";
  for (RankOverlap& rank : run.report.overlap->per_rank)
    rank.hideable_ns = RuleRun::kSteady * 6 * kNsPerMs;
  const std::vector<Finding> findings = found_comm(run, "comm.no-overlap");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].cost_ns, 6 * kNsPerMs);
  EXPECT_THAT(findings[0].advice, HasSubstr("lower bucket_cap_mb")) << "one bucket";
  run.summary().bytes = 73'500;
  EXPECT_THAT(found_comm(run, "comm.no-overlap")[0].advice, Not(HasSubstr("lower bucket_cap_mb")))
      << "too small to be split";
  for (RankOverlap& rank : run.report.overlap->per_rank)
    rank.hidden_ns = RuleRun::kSteady * 2 * kNsPerMs;
  EXPECT_THAT(found_comm(run, "comm.no-overlap"), IsEmpty()) << "some is hidden";
}

TEST(NoOverlap, OfShardedGradientsIsTheWrappingsFault) {
  CommRun run(2);
  run.collective({.function = schema::Function::kReduceScatter, .transfer_ns = 5 * kNsPerMs});
  for (RankOverlap& rank : run.report.overlap->per_rank)
    rank.hideable_ns = RuleRun::kSteady * 6 * kNsPerMs;
  ASSERT_THAT(found_comm(run, "comm.no-overlap"), SizeIs(1));
  EXPECT_THAT(found_comm(run, "comm.no-overlap")[0].advice, HasSubstr("wrap each layer"));
  run.collective({.function = schema::Function::kReduceScatter, .transfer_ns = 5 * kNsPerMs});
  EXPECT_THAT(found_comm(run, "comm.no-overlap")[0].advice, HasSubstr("one unit's reduce-scatter"));
}

TEST(OrderBlocked, ReadyAndNotSent) {
  CommRun run = bucketed(4 * kNsPerMs, 4 * kNsPerMs);
  EXPECT_THAT(found_comm(run, "comm.order-blocked"), IsEmpty()) << "not recorded";
  run.report.buckets->buckets[1].order_delay_ns = 3 * kNsPerMs;
  ASSERT_THAT(found_comm(run, "comm.order-blocked"), SizeIs(1));
  EXPECT_EQ(found_comm(run, "comm.order-blocked")[0].cost_ns, 3 * kNsPerMs);
  run.report.buckets->buckets[1].order_delay_ns = kNsPerMs;
  EXPECT_THAT(found_comm(run, "comm.order-blocked"), IsEmpty()) << "below 2 %";
}

TEST(FindUnused, TheMapOfUsedParametersIsReduced) {
  CommRun run(2);
  run.collective({.bucket = 0});
  run.collective(
      {.bytes = 32, .at_ms = 89, .transfer_ns = 2 * kNsPerMs, .dtype = schema::DataType::kInt32});
  EXPECT_THAT(found_comm(run, "comm.find-unused"), IsEmpty()) << "integers of somebody else";
  for (int r = 0; r < 2; ++r) run.facts(r).find_unused = true;
  ASSERT_THAT(found_comm(run, "comm.find-unused"), SizeIs(1));
  EXPECT_EQ(found_comm(run, "comm.find-unused")[0].cost_ns, 2 * kNsPerMs);
  EXPECT_EQ(found_comm(run, "comm.find-unused")[0].severity, FindingSeverity::kInfo);
}

TEST(Contention, BeyondTheSpread) {
  CommRun run(2);
  run.report.contention.emplace();
  run.report.contention->factor = 1.4;
  run.report.contention->operators = 9;
  run.report.contention->hidden_cost_ns = 5 * kNsPerMs;
  run.report.contention->spread = 0.1;
  ASSERT_THAT(found_comm(run, "comm.contention"), SizeIs(1));
  EXPECT_EQ(found_comm(run, "comm.contention")[0].severity, FindingSeverity::kWarn);
  run.report.contention->spread = 0.5;
  EXPECT_THAT(found_comm(run, "comm.contention"), IsEmpty());
}

TEST(LowBandwidth, LargeAndSlow) {
  CommRun run(2);
  run.collective({.bytes = 8 * kMiB, .transfer_ns = 20 * kNsPerMs});
  run.summary().n = 40;
  run.summary().efficiency = 0.4;
  EXPECT_THAT(found_comm(run, "comm.low-bandwidth"), IsEmpty()) << "slower than its own best only";
  CollectiveSummary fast = run.summary();
  fast.communicator = "inside";
  fast.efficiency = 0.9;
  run.report.collectives->insert(run.report.collectives->begin(), fast);
  ASSERT_THAT(found_comm(run, "comm.low-bandwidth"), SizeIs(1));
  EXPECT_EQ(found_comm(run, "comm.low-bandwidth")[0].cost_ns, 12 * kNsPerMs);
  run.summary().n = 10;
  EXPECT_THAT(found_comm(run, "comm.low-bandwidth"), IsEmpty()) << "too few";
  run.summary().n = 40;
  run.summary().efficiency = 0.7;
  EXPECT_THAT(found_comm(run, "comm.low-bandwidth"), IsEmpty());
}

TEST(LowBandwidth, CostsARankWhatItsOwnCommunicatorsLose) {
  CommRun run(6);
  for (int first = 0; first < 6; first += 2) {
    run.collective({.bytes = 8 * kMiB, .transfer_ns = 20 * kNsPerMs, .ranks = {first, first + 1}});
    run.summary().n = 40;
    run.summary().efficiency = first < 4 ? 0.4 : 0.9;
  }
  ASSERT_THAT(found_comm(run, "comm.low-bandwidth"), SizeIs(1));
  EXPECT_EQ(found_comm(run, "comm.low-bandwidth")[0].cost_ns, 12 * kNsPerMs);
}

TEST(SlowGroup, HostsAreNamedGroupsAreNot) {
  CommRun run(4);
  run.collective({.transfer_ns = 10 * kNsPerMs});
  EXPECT_THAT(found_comm(run, "comm.slow-group"), IsEmpty()) << "not compared";
  run.report.slow_links.emplace();
  EXPECT_THAT(found_comm(run, "comm.slow-group"), IsEmpty()) << "none is slow";
  run.report.slow_links->groups = {
      {.communicator = "default_pg", .ranks = {2, 3}, .ratio = 2, .windows = 4}};
  run.report.slow_links->within_only = true;
  ASSERT_THAT(found_comm(run, "comm.slow-group"), SizeIs(1));
  EXPECT_THAT(found_comm(run, "comm.slow-group")[0].title, HasSubstr("within ranks 2, 3"));
  SlowHost host;
  host.host = "node-b";
  host.ranks = {2, 3};
  host.groups = 2;
  host.ratio = 3;
  host.excess_ns = 12 * kNsPerMs;
  run.report.slow_links->hosts = {host};
  const std::vector<Finding> findings = found_comm(run, "comm.slow-group");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].title, HasSubstr("node-b"));
  EXPECT_EQ(findings[0].severity, FindingSeverity::kCritical);
}

TEST(SlowGroup, ExplainsAStragglerOfThatCauseOnly) {
  CommRun run(4);
  SlowHost host;
  host.host = "node-b";
  host.ranks = {2, 3};
  host.excess_ns = 12 * kNsPerMs;
  run.report.slow_links.emplace();
  run.report.slow_links->hosts = {host};
  Verdict verdict;
  verdict.straggler.rank = 2;
  verdict.straggler.shape = "persistent";
  verdict.straggler.cause = "network";
  verdict.straggler.cost_ns = 10 * kNsPerMs;
  verdict.straggler.confidence = 0.9;
  verdict.named = true;
  run.verdicts = {verdict};
  EXPECT_EQ(run.cause_of("balance.straggler"), "comm.slow-group");
  run.verdicts[0].straggler.cause = "compute";
  EXPECT_EQ(run.cause_of("balance.straggler"), "");
}

TEST(GlooOnGpu, TensorsByWayOfTheHost) {
  CommRun run(2);
  run.collective({.bytes = kMiB, .transfer_ns = 4 * kNsPerMs});
  run.set_all(Category::kCopy, 2 * kNsPerMs);
  EXPECT_THAT(found_comm(run, "comm.gloo-on-gpu"), IsEmpty()) << "no GPU";
  for (int r = 0; r < 2; ++r) run.rank(r).gpu.devices.resize(1);
  ASSERT_THAT(found_comm(run, "comm.gloo-on-gpu"), SizeIs(1));
  EXPECT_EQ(found_comm(run, "comm.gloo-on-gpu")[0].cost_ns, 6 * kNsPerMs);
  EXPECT_EQ(run.cause_of("comm.exposed-transfer"), "comm.gloo-on-gpu");
  for (int r = 0; r < 2; ++r) run.rank(r).communicators[0].backend = schema::Backend::kNccl;
  EXPECT_THAT(found_comm(run, "comm.gloo-on-gpu"), IsEmpty());
}

TEST(ServerBottleneck, AStarWithAServer) {
  CommRun run(3);
  for (const int worker : {0, 1}) {
    run.message(worker, 2);
    run.message(2, worker);
  }
  run.wait_all(20 * kNsPerMs);
  EXPECT_THAT(found_comm(run, "comm.server-bottleneck"), IsEmpty()) << "the middle of a pipeline";
  run.without_phase(2, schema::Marker::kForward);
  const std::vector<Finding> findings = found_comm(run, "comm.server-bottleneck");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].ranks, ElementsAre(2));
  EXPECT_EQ(findings[0].cost_ns, 10 * kNsPerMs) << "one of two workers";
  CommRun late = run;
  late.verdicts.emplace_back();
  late.verdicts.back().straggler.cost_ns = 12 * kNsPerMs;
  EXPECT_EQ(found_comm(late, "comm.server-bottleneck")[0].cost_ns, 10 * kNsPerMs) << "not named";
  late.verdicts.back().named = true;
  EXPECT_EQ(found_comm(late, "comm.server-bottleneck")[0].cost_ns, 4 * kNsPerMs);
  run.set(2, Category::kExposedWait, CommRun::kStep - 6 * kNsPerMs);
  const Finding idle = found_comm(run, "comm.server-bottleneck")[0];
  EXPECT_EQ(idle.cost_ns, 3 * kNsPerMs);
  EXPECT_THAT(idle.detail, HasSubstr("the server is busy for 6.0 ms only, 1/2 of that"));
  EXPECT_THAT(findings[0].detail, HasSubstr("of which 1/2 is queueing behind the other workers"));
  run.message(0, 1);
  EXPECT_THAT(found_comm(run, "comm.server-bottleneck"), IsEmpty()) << "no star";
}

// DDP's start, one backward, an error.
CommRun that_ends_early() {
  CommRun run(2);
  run.report.run.steps.reset();
  for (int r = 0; r < 2; ++r) {
    RankDigest& digest = run.rank(r);
    digest.steps.resize(1);
    digest.phases.resize(2);
    CollectiveRecord record;
    record.function = Function::kBroadcast;
    record.enqueue = TraceNs{-5};
    digest.collectives = std::vector{record};
    run.traces[static_cast<size_t>(r)].exit_status = r == 0 ? "exit:1" : "signal:15";
  }
  return run;
}

TEST(UnfinishedReduction, ABackwardThatReducedNothing) {
  CommRun run = that_ends_early();
  ASSERT_THAT(found_comm(run, "comm.unfinished-reduction"), SizeIs(1));
  EXPECT_EQ(run.cause_of("startup.failed"), "comm.unfinished-reduction");
  CommRun well = that_ends_early();
  for (TraceFile& trace : well.traces) trace.exit_status = "exit:0";
  EXPECT_THAT(found_comm(well, "comm.unfinished-reduction"), IsEmpty());
  CommRun reduced = that_ends_early();
  CollectiveRecord record;
  record.enqueue = reduced.rank(0).phases[1].span.begin;
  record.function = Function::kAllReduce;
  reduced.rank(0).collectives.push_back(record);
  EXPECT_THAT(found_comm(reduced, "comm.unfinished-reduction"), IsEmpty());
}

TEST(Hang, APartingThatATimeoutEnded) {
  CommRun run(2);
  run.matching->divergences = {{.group = 0,
                                .sequence = 8,
                                .tie = true,
                                .sides = {{.ranks = {0}, .next = {"barrier"}},
                                          {.ranks = {1}, .next = {"all_reduce 108400 B"}}}}};
  EXPECT_THAT(run.of(comm_rules(), "comm.hang"), IsEmpty()) << "the job ended well";
  run.traces[0].exit_status = "exit:1";
  const std::vector<Finding> findings = found_comm(run, "comm.hang");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].title, HasSubstr("rank 0 calls barrier, rank 1 calls all_reduce"));
  EXPECT_THAT(findings[0].advice, HasSubstr("only some ranks run"));
}

TEST(ExposedTransfer, IsAnUpperBound) {
  CommRun run(2);
  run.collective({.transfer_ns = 12 * kNsPerMs});
  const std::vector<Finding> findings = found_comm(run, "comm.exposed-transfer");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].detail, HasSubstr("upper bound"));
  EXPECT_EQ(findings[0].severity, FindingSeverity::kCritical);
}

TEST(ExposedTransfer, SmallBucketsAreNotToBeSplit) {
  CommRun run(2);
  run.collective({.transfer_ns = 12 * kNsPerMs});
  EXPECT_THAT(found_comm(run, "comm.exposed-transfer")[0].advice, HasSubstr("bucket_cap_mb"));
  run.summary().bytes = 73'500;
  EXPECT_THAT(found_comm(run, "comm.exposed-transfer")[0].advice,
              AllOf(HasSubstr("send fewer bytes"), Not(HasSubstr("bucket_cap_mb"))));
}

}  // namespace
}  // namespace dprof::analyzer
