// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/rules/test_support/rule_run.h"

namespace dprof::analyzer {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> found_host(const RuleRun& run, std::string_view name) {
  return run.of(host_rules(), name);
}

// Two GPU ranks that compute.
RuleRun gpu_host_run() {
  RuleRun run(2);
  run.kernel_all(KernelClass::kOther, "kernel", 60 * kNsPerMs);
  return run;
}

TEST(HostSyncPerStep, TheDeviceRunsDry) {
  RuleRun run = gpu_host_run();
  run.call_all(CallKind::kStreamSync, 1, 3 * kNsPerMs);
  run.set_all(Category::kSyncBubble, 5 * kNsPerMs);
  const std::vector<Finding> findings = found_host(run, "host.sync-per-step");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].cost_ns, 5 * kNsPerMs);
  EXPECT_EQ(findings[0].severity, FindingSeverity::kWarn);
  EXPECT_THAT(findings[0].detail, HasSubstr("1 such calls per step"));
  EXPECT_EQ(findings[0].evidence[0].rows.size(), 10U) << "of the steady steps";
}

TEST(HostSyncPerStep, EveryTenthStepIsNotEach) {
  RuleRun run = gpu_host_run();
  run.call_all(CallKind::kStreamSync, 1, 3 * kNsPerMs);
  run.set_all(Category::kSyncBubble, 5 * kNsPerMs);
  for (int r = 0; r < 2; ++r) {
    std::erase_if(run.facts(r).calls[static_cast<size_t>(CallKind::kStreamSync)].kept,
                  [](const Call& call) { return call.row % 10 != 0; });
  }
  EXPECT_THAT(found_host(run, "host.sync-per-step"), IsEmpty());
}

TEST(HostSyncPerStep, WithoutABubbleItCostsNothing) {
  RuleRun run = gpu_host_run();
  run.call_all(CallKind::kStreamSync, 4, 3 * kNsPerMs);
  EXPECT_THAT(found_host(run, "host.sync-per-step"), IsEmpty());
}

TEST(HostSyncPerStep, ValuesReadAreSaid) {
  RuleRun run = gpu_host_run();
  run.call_all(CallKind::kStreamSync, 1, 3 * kNsPerMs);
  run.call_all(CallKind::kItem, 2, 3 * kNsPerMs);
  run.set_all(Category::kSyncBubble, 5 * kNsPerMs);
  const std::vector<Finding> findings = found_host(run, "host.sync-per-step");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].decided_by, ::testing::Contains(HasSubstr("read 2 times per step")));
}

TEST(HostDeviceSynchronize, ComesInPlaceOfTheOther) {
  RuleRun run = gpu_host_run();
  run.call_all(CallKind::kDeviceSync, 1, 4 * kNsPerMs);
  run.call_all(CallKind::kStreamSync, 1, kNsPerMs);
  run.set_all(Category::kSyncBubble, 5 * kNsPerMs);
  const std::vector<Finding> findings = found_host(run, "host.device-synchronize");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_THAT(found_host(run, "host.sync-per-step"), IsEmpty());
  RuleRun other = gpu_host_run();
  other.call_all(CallKind::kDeviceSync, 1, kNsPerMs);
  other.call_all(CallKind::kStreamSync, 1, 4 * kNsPerMs);
  other.set_all(Category::kSyncBubble, 5 * kNsPerMs);
  EXPECT_THAT(found_host(other, "host.device-synchronize"), IsEmpty());
}

RuleRun launch_bound_run(int64_t kernel_ns, int64_t lag_ns) {
  RuleRun run = gpu_host_run();
  for (int r = 0; r < 2; ++r) {
    for (int i = 0; i < 200; ++i) {
      run.facts(r).kernel_ns.add(kernel_ns);
      run.facts(r).start_lag_ns.add(lag_ns);
    }
  }
  run.set_all(Category::kLaunch, 12 * kNsPerMs);
  run.set_all(Category::kHost, 8 * kNsPerMs);
  return run;
}

TEST(HostLaunchBound, ShortKernelsAndAnEmptyQueue) {
  const RuleRun run = launch_bound_run(5'000, 4'000);
  const std::vector<Finding> findings = found_host(run, "host.launch-bound");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].cost_ns, 20 * kNsPerMs);
  EXPECT_THAT(found_host(launch_bound_run(50'000, 4'000), "host.launch-bound"), IsEmpty())
      << "long kernels";
  EXPECT_THAT(found_host(launch_bound_run(5'000, 400'000), "host.launch-bound"), IsEmpty())
      << "a full queue";
}

TEST(HostLaunchBound, IsASymptomOfBlockingLaunches) {
  RuleRun run = launch_bound_run(5'000, 0);
  for (int r = 0; r < 2; ++r) {
    run.facts(r).launches_sampled = 100;
    run.facts(r).launches_until_done = 100;
  }
  EXPECT_EQ(run.cause_of("host.launch-bound"), "host.debug-mode");
}

TEST(HostDebugMode, LaunchesThatReturnWhenTheirKernelIsDone) {
  RuleRun run = gpu_host_run();
  run.facts(0).launches_sampled = 100;
  run.facts(0).launches_until_done = 100;
  const std::vector<Finding> findings = found_host(run, "host.debug-mode");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_THAT(findings[0].title, HasSubstr("CUDA_LAUNCH_BLOCKING"));
  run.facts(0).launches_until_done = 60;  // short kernels occasionally end within their launch
  EXPECT_THAT(found_host(run, "host.debug-mode"), IsEmpty());
}

TEST(HostDebugMode, ChecksOfEachGradient) {
  RuleRun run(1);
  run.call_all(CallKind::kNanCheck, 5, kNsPerMs / 10);
  run.facts(0).autograd_nodes = 60;
  const std::vector<Finding> findings = found_host(run, "host.debug-mode");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_THAT(findings[0].title, HasSubstr("anomaly"));
  run.facts(0).autograd_nodes = 600;  // a model that checks its loss
  EXPECT_THAT(found_host(run, "host.debug-mode"), IsEmpty());
}

TEST(HostUnfusedOptimizer, ManyLaunches) {
  RuleRun run = gpu_host_run();
  run.set_all(Category::kOptimizer, 8 * kNsPerMs);
  for (int r = 0; r < 2; ++r) {
    run.facts(r).optimizer_phases = 12;
    run.facts(r).optimizer_launches = int64_t{12} * 600;
  }
  const std::vector<Finding> findings = found_host(run, "host.unfused-optimizer");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].cost_ns, 8 * kNsPerMs);
  for (int r = 0; r < 2; ++r) run.facts(r).optimizer_launches = int64_t{12} * 40;
  EXPECT_THAT(found_host(run, "host.unfused-optimizer"), IsEmpty());
  for (int r = 0; r < 2; ++r) run.facts(r).parameter_tensors = 6;
  EXPECT_THAT(found_host(run, "host.unfused-optimizer"), SizeIs(1)) << "more than 5 per tensor";
  run.set_all(Category::kOptimizer, 4 * kNsPerMs);
  EXPECT_THAT(found_host(run, "host.unfused-optimizer"), IsEmpty()) << "cheap all the same";
}

TEST(HostZeroGradFills, OneForEachParameter) {
  RuleRun run = gpu_host_run();
  run.kernel_all(KernelClass::kFill, "FillFunctor", kNsPerMs);
  run.set_all(Category::kBackward, 61 * kNsPerMs);
  for (int r = 0; r < 2; ++r) {
    run.facts(r).optimizer_phases = 12;
    run.facts(r).parameter_tensors = 8;
    run.facts(r).kernels_by_class[static_cast<size_t>(KernelClass::kFill)].count = int64_t{12} * 8;
  }
  const std::vector<Finding> findings = found_host(run, "host.zero-grad-fills");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].cost_ns, kNsPerMs);
  for (int r = 0; r < 2; ++r) run.facts(r).parameter_tensors = 80;
  EXPECT_THAT(found_host(run, "host.zero-grad-fills"), IsEmpty());
}

TEST(HostBackwardOverhead, StarvedForLongerThanBusy) {
  RuleRun run = gpu_host_run();
  for (int r = 0; r < 2; ++r) {
    run.facts(r).backward_starved_ns.assign(12, 20 * kNsPerMs);
    run.facts(r).backward_busy_ns.assign(12, 10 * kNsPerMs);
    run.rank(r).phases.push_back(
        {{{3 * RuleRun::kStep}, {3 * RuleRun::kStep + kNsPerMs}}, schema::Marker::kBackward, 9});
  }
  const std::vector<Finding> findings = found_host(run, "host.backward-overhead");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].cost_ns, 20 * kNsPerMs);
  for (int r = 0; r < 2; ++r) run.facts(r).backward_busy_ns.assign(12, 30 * kNsPerMs);
  EXPECT_THAT(found_host(run, "host.backward-overhead"), IsEmpty());
}

TEST(HostRules, SayNothingOfARunOnCpus) {
  RuleRun run(2);
  run.set_all(Category::kForward, 90 * kNsPerMs);
  run.call_all(CallKind::kItem, 3, kNsPerMs);
  for (const Rule& rule : host_rules()) {
    EXPECT_THAT(findings_of(run.input(), rule), IsEmpty()) << rule.name;
  }
}

// In each step a kernel waits behind a collective for so long, on both ranks.
RuleRun standing_behind(int64_t ns, int64_t every = 1) {
  RuleRun run = gpu_host_run();
  for (RankDigest& digest : run.digests) {
    digest.gpu.devices.emplace_back();
    for (const StepRecord& step : digest.steps) {
      if (step.index % every != 0) continue;
      const TraceNs from{step.window.begin.ns + 50 * kNsPerMs};
      digest.gpu.devices.back().held_back.push_back(
          {from, {from.ns + ns}, static_cast<int32_t>(step.index) + 1});
    }
  }
  return run;
}

TEST(HostFalseDependency, InEachStep) {
  const RuleRun run = standing_behind(4 * kNsPerMs);
  const std::vector<Finding> findings = found_host(run, "host.false-dependency");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].cost_ns, 4 * kNsPerMs);
  EXPECT_EQ(findings[0].evidence[0].table, "collective");
  EXPECT_EQ(findings[0].evidence[0].rows.front(), 3) << "of the first steady step";
}

TEST(HostFalseDependency, NotNowAndThenNorForLittle) {
  EXPECT_THAT(found_host(standing_behind(9 * kNsPerMs, 2), "host.false-dependency"), IsEmpty());
  EXPECT_THAT(found_host(standing_behind(kNsPerMs / 2), "host.false-dependency"), IsEmpty());
}

TEST(HostFalseDependency, BlockingLaunchesAreTheCause) {
  RuleRun run = standing_behind(4 * kNsPerMs);
  run.set_all(Category::kHost, 30 * kNsPerMs);
  for (int r = 0; r < 2; ++r) {
    run.facts(r).launches_sampled = 100;
    run.facts(r).launches_until_done = 100;
  }
  EXPECT_EQ(run.cause_of("host.false-dependency"), "host.debug-mode");
}

TEST(HostFalseDependency, ExplainsExposedTransfers) {
  RuleRun run = standing_behind(4 * kNsPerMs);
  for (RankOverlap& rank : run.report.overlap->per_rank)
    rank.exposed_transfer_ns = RuleRun::kSteady * 5 * kNsPerMs;
  EXPECT_EQ(run.cause_of("comm.exposed-transfer"), "host.false-dependency");
}

}  // namespace
}  // namespace dprof::analyzer
