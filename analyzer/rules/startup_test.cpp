// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/rules/test_support/comm_run.h"

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> found_startup(const RuleRun& run, std::string_view name) {
  std::vector<Finding> findings = run.of(startup_rules(), name);
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.decided_by.empty()) << name;
    EXPECT_FALSE(finding.refuted_by.empty()) << name;
  }
  return findings;
}

// Two ranks that never reached an update; rank 0 failed, the launcher ended rank 1.
CommRun that_fails(bool met) {
  CommRun run(2);
  run.report.run.steps.reset();
  run.report.run.world_size = 2;
  for (int r = 0; r < 2; ++r) {
    RankDigest& digest = run.rank(r);
    digest.steps.clear();
    digest.phases.clear();
    digest.autograd.clear();
    if (met) digest.collectives = std::vector<CollectiveRecord>(3);
    if (!met) digest.communicators.clear();
    run.traces[static_cast<size_t>(r)].exit_status = r == 0 ? "exit:1" : "signal:15";
  }
  return run;
}

TEST(StartupFailed, NobodyMadeAnUpdate) {
  CommRun run = that_fails(true);
  run.rank(0).last_activity.open = {{.name = "forward", .begun_ago_ns = 5, .ended_ago_ns = {}}};
  const std::vector<Finding> findings = found_startup(run, "startup.failed");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].ranks, ElementsAre(0)) << "the launcher ended rank 1";
  EXPECT_THAT(findings[0].detail, HasSubstr("exit:1, in `forward`"));
  EXPECT_THAT(found_startup(run, "startup.rendezvous"), IsEmpty()) << "they had met";
}

TEST(StartupFailed, NotAfterTraining) {
  CommRun run(2);
  run.traces[0].exit_status = "exit:1";
  EXPECT_THAT(found_startup(run, "startup.failed"), IsEmpty());
  CommRun well = that_fails(true);
  for (TraceFile& trace : well.traces) trace.exit_status = "exit:0";
  EXPECT_THAT(found_startup(well, "startup.failed"), IsEmpty());
}

TEST(StartupRendezvous, NobodyMetAnybody) {
  CommRun run = that_fails(false);
  ASSERT_THAT(found_startup(run, "startup.rendezvous"), SizeIs(1));
  EXPECT_EQ(run.cause_of("startup.rendezvous"), "startup.failed") << "one root cause, one finding";
  run.report.run.world_size = 1;
  EXPECT_THAT(found_startup(run, "startup.rendezvous"), IsEmpty());
}

TEST(StartupNoRanks, NothingWasComputed) {
  CommRun run = that_fails(false);
  run.report.run.world_size.reset();
  EXPECT_THAT(found_startup(run, "startup.no-ranks"), IsEmpty()) << "it failed";
  for (TraceFile& trace : run.traces) trace.exit_status = "exit:0";
  EXPECT_THAT(found_startup(run, "startup.no-ranks"), SizeIs(1));
  run.rank(1).ops = {{{0}, {5}}};
  EXPECT_THAT(found_startup(run, "startup.no-ranks"), IsEmpty());
}

CommRun on_devices(const std::vector<std::string>& uuids) {
  CommRun run(static_cast<int>(uuids.size()));
  for (size_t r = 0; r < uuids.size(); ++r) {
    DeviceFact device;
    device.uuid = uuids[r];
    device.kernels = 10;
    run.facts(static_cast<int>(r)).devices = {device};
  }
  return run;
}

TEST(DeviceShared, OneUuidForTwoRanks) {
  const CommRun run = on_devices({"GPU-a", "GPU-b", "GPU-a"});
  const std::vector<Finding> findings = found_startup(run, "device.shared");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].ranks, ElementsAre(0, 2));
  EXPECT_THAT(found_startup(run, "parallel.stages-share-device"), IsEmpty());
  EXPECT_THAT(found_startup(on_devices({"GPU-a", "GPU-b"}), "device.shared"), IsEmpty());
  CommRun seen = on_devices({"GPU-a", "GPU-a"});
  seen.facts(1).devices[0].kernels = 0;
  EXPECT_THAT(found_startup(seen, "device.shared"), IsEmpty()) << "seen, not used";
}

TEST(StagesShareDevice, RanksThatPassMessages) {
  CommRun run = on_devices({"GPU-a", "GPU-a"});
  run.message(0, 1);
  EXPECT_THAT(found_startup(run, "parallel.stages-share-device"), SizeIs(1));
  EXPECT_THAT(found_startup(run, "device.shared"), IsEmpty());
}

void mark(RuleRun& run, std::string name, double per_step, int64_t mean_ns) {
  if (!run.report.phases) run.report.phases.emplace();
  PhaseSummary phase;
  phase.name = std::move(name);
  for (const RankDigest& digest : run.digests)
    phase.per_rank.push_back({.rank = digest.rank, .per_step = per_step, .mean_ns = mean_ns});
  run.report.phases->push_back(std::move(phase));
}

TEST(SingleProcess, ReplicatesTheModelInEachStep) {
  CommRun run(1);
  mark(run, "gather", 1, kNsPerMs);
  EXPECT_THAT(found_startup(run, "parallel.single-process"), IsEmpty());
  mark(run, "replicate", 1, 4 * kNsPerMs);
  mark(run, "reduce", 1, kNsPerMs);
  ASSERT_THAT(found_startup(run, "parallel.single-process"), SizeIs(1));
  EXPECT_EQ(found_startup(run, "parallel.single-process")[0].cost_ns, 6 * kNsPerMs);
  run.report.run.world_size = 2;
  EXPECT_THAT(found_startup(run, "parallel.single-process"), IsEmpty()) << "a rank of a larger job";
}

CommRun pipeline(double micro_batches) {
  CommRun run(4);
  for (int r = 0; r < 3; ++r) {
    run.message(r, r + 1);
    run.message(r + 1, r);
  }
  mark(run, "stage_forward", micro_batches, 10 * kNsPerMs);
  run.wait_all(40 * kNsPerMs);
  return run;
}

TEST(Bubble, FewMicroBatches) {
  const std::vector<Finding> findings = found_startup(pipeline(1), "parallel.bubble");
  ASSERT_THAT(findings, SizeIs(1));
  // 3/4 idle now, 3/19 with 16 micro-batches: of 40 ms remain 8.4.
  EXPECT_NEAR(static_cast<double>(*findings[0].cost_ns), 31.6e6, 0.1e6);
  EXPECT_THAT(findings[0].advice, HasSubstr("at least 16"));
  EXPECT_EQ(pipeline(1).cause_of("balance.waiting"), "parallel.bubble");
  EXPECT_THAT(found_startup(pipeline(16), "parallel.bubble"), IsEmpty()) << "enough in flight";
  CommRun calm = pipeline(1);
  calm.report.overlap->per_rank.clear();
  EXPECT_THAT(found_startup(calm, "parallel.bubble"), IsEmpty()) << "nobody waits";
}

TEST(Bubble, WaitingForACulpritIsNotItsCost) {
  CommRun run = pipeline(1);
  const auto add = [&](int rank, std::string cause, bool named) {
    Verdict verdict;
    verdict.straggler.rank = rank;
    verdict.straggler.cause = std::move(cause);
    verdict.straggler.cost_ns = 10 * kNsPerMs;
    verdict.named = named;
    run.verdicts.push_back(std::move(verdict));
  };
  add(1, "compute", true);
  add(2, "compute", false);         // may be chance
  add(3, "network", true);          // transfer
  add(0, "stage_imbalance", true);  // how the work is divided
  const Finding f = found_startup(run, "parallel.bubble").at(0);
  EXPECT_NEAR(static_cast<double>(*f.cost_ns), 31.6e6 * 30 / 40, 0.1e6);
  EXPECT_THAT(f.detail, HasSubstr("waits 40.0 ms per step, 10.0 ms of it for culprits"));
  for (Verdict& verdict : run.verdicts) verdict.straggler.cost_ns = 100 * kNsPerMs;
  EXPECT_THAT(found_startup(run, "parallel.bubble"), IsEmpty()) << "they explain all of it";
}

TEST(Bubble, OfTwoStagesNeitherIsTheNormalOne) {
  CommRun run(2);
  run.message(0, 1);
  run.message(1, 0);
  mark(run, "stage_forward", 1, 10 * kNsPerMs);
  run.wait_all(40 * kNsPerMs);
  run.verdicts.emplace_back();
  run.verdicts.back().straggler.cost_ns = 100 * kNsPerMs;
  run.verdicts.back().named = true;
  EXPECT_THAT(found_startup(run, "parallel.bubble"), SizeIs(1));
}

TEST(Bubble, ReplicasAreNoStages) {
  CommRun run(8);
  for (int r = 0; r < 6; ++r) {  // even ranks are one pipeline, odd ones the other
    run.message(r, r + 2);
    run.message(r + 2, r);
  }
  mark(run, "stage_forward", 3, 10 * kNsPerMs);  // the first one is named forward
  mark(run, "stage_backward", 4, 10 * kNsPerMs);
  run.wait_all(40 * kNsPerMs);
  const std::vector<Finding> findings = found_startup(run, "parallel.bubble");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].advice, HasSubstr("at least 16 micro-batches per step for 4 stages"));
  EXPECT_THAT(findings[0].title, HasSubstr("only 4 micro-batches"));
  EXPECT_THAT(findings[0].detail, HasSubstr("the median of 8 ranks waits 40"));
  EXPECT_THAT(findings[0].detail, HasSubstr("4 equal stages would be idle for 43 %"));
}

// Steps of four micro-batches; those at `partial` have two.
CommRun accumulating_start(const std::vector<size_t>& partial) {
  CommRun run(2);
  for (RankDigest& digest : run.digests) {
    MarkedPhase micro;
    micro.name = "micro_step";
    for (size_t s = 0; s < digest.steps.size(); ++s) {
      const bool is_partial = std::ranges::count(partial, s) > 0;
      micro.in_steps.push_back({.step = s, .count = is_partial ? 2 : 4, .total_ns = kNsPerMs});
    }
    digest.marked = {micro};
  }
  return run;
}

void drop_update(CommRun& run, size_t step) {
  for (RankDigest& digest : run.digests) {
    const Interval window = digest.steps[step].window;
    std::erase_if(digest.phases, [&](const PhaseRange& p) {
      return p.marker == schema::Marker::kOptimizer && p.span.begin >= window.begin &&
             p.span.begin < window.end;
    });
  }
}

TEST(PartialAccumulation, WindowsWithoutAnUpdate) {
  CommRun run = accumulating_start({5, 11});
  EXPECT_THAT(found_startup(run, "step.partial-accumulation"), IsEmpty()) << "they update";
  drop_update(run, 5);
  drop_update(run, 11);
  const std::vector<Finding> findings = found_startup(run, "step.partial-accumulation");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].title, HasSubstr("2 of 12 accumulation windows"));
  EXPECT_EQ(findings[0].cost_ns, 200 * kNsPerMs / 12);
  CommRun whole = accumulating_start({});
  drop_update(whole, 5);
  EXPECT_THAT(found_startup(whole, "step.partial-accumulation"), IsEmpty()) << "as many as usual";
}

TEST(SkippedSteps, ManyOfThem) {
  CommRun run(2);
  run.call_all(CallKind::kScalerUpdate, 1, 1000);
  run.facts(0).scaler_skips = 2;
  EXPECT_THAT(found_startup(run, "amp.skipped-steps"), IsEmpty()) << "while the scale settles";
  run.facts(0).scaler_skips = 6;
  const std::vector<Finding> findings = found_startup(run, "amp.skipped-steps");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].cost_ns, 50 * kNsPerMs);
  EXPECT_EQ(findings[0].severity, FindingSeverity::kCritical);
}

TEST(ManyWriters, EachRankSaves) {
  CommRun run(2);
  run.set_detail_all("host.checkpoint", 5 * kNsPerMs);
  run.set_detail_all("host.logging", 0);
  ASSERT_THAT(found_startup(run, "io.many-writers"), SizeIs(1));
  EXPECT_EQ(found_startup(run, "io.many-writers")[0].severity, FindingSeverity::kInfo)
      << "the files may differ";
  CommRun sharded = run;
  sharded.collective({.function = schema::Function::kReduceScatter});
  EXPECT_THAT(found_startup(sharded, "io.many-writers"), IsEmpty()) << "each saves its own share";
  CommRun one(2);
  one.report.breakdown->per_rank[0].detail_ns = {
      {"host.checkpoint", RuleRun::kSteady * 5 * kNsPerMs}};
  EXPECT_THAT(found_startup(one, "io.many-writers"), IsEmpty());
}

}  // namespace
}  // namespace dprof::analyzer
