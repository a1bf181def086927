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

constexpr int64_t kGb = 1'000'000'000;

std::vector<Finding> found_memory(const RuleRun& run, std::string_view name) {
  return run.of(memory_rules(), name);
}

// Devices of 80 GB, with `peak_gb` used at the peak.
RuleRun memory_run(int64_t peak_gb, int ranks = 2) {
  RuleRun run(ranks);
  run.report.memory.emplace();
  for (int r = 0; r < ranks; ++r) {
    RankMemory memory;
    memory.rank = r;
    memory.device = 0;
    memory.peak_allocated = peak_gb * kGb;
    memory.peak_reserved = peak_gb * kGb;
    memory.device_total = 80 * kGb;
    memory.hard_headroom = (80 - peak_gb) * kGb;
    memory.soft_headroom = (80 - peak_gb) * kGb;
    memory.segment_allocs_per_step = 0;
    memory.segment_frees_per_step = 0;
    run.report.memory->per_rank.push_back(memory);
  }
  return run;
}

RankMemory& of_rank(RuleRun& run, size_t r) { return run.report.memory->per_rank[r]; }

TEST(MemoryNearOom, BelowFivePercent) {
  RuleRun run = memory_run(70);
  EXPECT_THAT(found_memory(run, "memory.near-oom"), IsEmpty());
  of_rank(run, 1).hard_headroom = 2 * kGb;
  const std::vector<Finding> findings = found_memory(run, "memory.near-oom");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_THAT(findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(findings[0].severity, FindingSeverity::kWarn);
  run.report.memory->out_of_memory.push_back({.rank = 0, .device = 0, .bytes = 5 * kGb});
  EXPECT_EQ(found_memory(run, "memory.near-oom")[0].severity, FindingSeverity::kCritical);
}

Leak leak_of(int rank, int64_t bytes, int64_t bound) {
  return {.rank = rank,
          .device = 0,
          .bytes_per_step = bytes,
          .bound = bound,
          .steps_to_oom = 400.0,
          .steps = 6,
          .risen_bytes = 6 * bytes,
          .sites = {{.site = "aten::empty", .phase = "forward", .blocks = 6, .bytes = 6 * bytes}}};
}

TEST(MemoryLeak, BeyondItsOwnUncertainty) {
  RuleRun run = memory_run(40);
  EXPECT_THAT(found_memory(run, "memory.leak"), IsEmpty()) << "not judged";
  run.report.memory->leaks = {{leak_of(1, 4'000'000, 100'000)}};
  const std::vector<Finding> findings = found_memory(run, "memory.leak");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_THAT(findings[0].ranks, ElementsAre(1));
  EXPECT_THAT(findings[0].detail, HasSubstr("400 more steps"));
  EXPECT_THAT(findings[0].detail, HasSubstr("aten::empty"));
  EXPECT_EQ(findings[0].severity, FindingSeverity::kCritical);
  run.report.memory->leaks = {{leak_of(1, 4'000'000, 5'000'000)}};
  EXPECT_THAT(found_memory(run, "memory.leak"), IsEmpty());
}

// Two hosts of two ranks; ranks 0 and 1 grow by 3 and 1 MB per step, within 10 %.
RuleRun growing_hosts() {
  RuleRun run = memory_run(40, 4);
  for (int r = 0; r < 4; ++r)
    run.traces.push_back({.rank = r, .clock_id = r < 2 ? "first" : "second"});
  run.report.memory->leaks.emplace();
  for (const auto& [rank, bytes] : {std::pair(0, 3'000'000), std::pair(1, 1'000'000)}) {
    Leak leak = leak_of(rank, bytes, bytes / 10);
    leak.device = -1;
    leak.steps_to_oom.reset();
    run.report.memory->leaks->push_back(leak);
  }
  return run;
}

TEST(MemoryLeak, SaysWhenTheHostsMemoryEnds) {
  RuleRun run = growing_hosts();
  run.facts(0).host_memory.available_bytes = 44 * kGb;  // 11,000 steps of 100 ms
  run.facts(2).host_memory.available_bytes = kGb;       // of another host
  const Finding finding = found_memory(run, "memory.leak").at(0);
  EXPECT_THAT(finding.title, HasSubstr("host memory of ranks 0, 1 grows"));
  EXPECT_THAT(finding.detail,
              HasSubstr("after 11,000 (10,000 to 12,222) more steps, about 0.31 h"));
  EXPECT_THAT(finding.detail, HasSubstr("and ranks 0, 1 take"));
  EXPECT_EQ(finding.severity, FindingSeverity::kWarn);
}

TEST(MemoryLeak, AHostWhoseMemoryEndsSoonIsCritical) {
  RuleRun run = growing_hosts();
  run.facts(0).host_memory = {
      .available_bytes = 44 * kGb, .cgroup_bytes = 7 * kGb, .cgroup_limit_bytes = 9 * kGb};
  const Finding finding = found_memory(run, "memory.leak").at(0);
  EXPECT_THAT(finding.detail, HasSubstr("after 500 (454 to 555) more steps")) << "its cgroup's";
  EXPECT_EQ(finding.severity, FindingSeverity::kCritical);
}

TEST(MemoryLeak, WhatTheHostHasLeftMayNotBeKnown) {
  RuleRun run = growing_hosts();
  run.facts(2).host_memory.available_bytes = kGb;
  EXPECT_THAT(found_memory(run, "memory.leak").at(0).detail, HasSubstr("it is unknown when"))
      << "another host";
  run.facts(0).host_memory.available_bytes = kGb;
  run.traces.clear();
  EXPECT_THAT(found_memory(run, "memory.leak").at(0).detail, HasSubstr("it is unknown when"))
      << "who shares it";
}

TEST(MemoryLeak, ExplainsThatLittleIsLeft) {
  RuleRun run = memory_run(78);
  run.report.memory->leaks = {{leak_of(0, 4'000'000, 1), leak_of(1, 3'000'000, 1)}};
  EXPECT_EQ(run.cause_of("memory.near-oom"), "memory.leak");
}

RuleRun stalling_run() {
  RuleRun run = memory_run(40);
  run.call_all(CallKind::kAllocate, 2, kNsPerMs);
  run.call_all(CallKind::kRelease, 2, kNsPerMs);
  run.set_all(Category::kAllocator, 5 * kNsPerMs);
  return run;
}

TEST(MemoryAllocatorStalls, CallsOfTheDriverInEachStep) {
  RuleRun run = stalling_run();
  const std::vector<Finding> findings = found_memory(run, "memory.allocator-stalls");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].cost_ns, 5 * kNsPerMs);
  EXPECT_THAT(found_memory(run, "memory.cache-churn"), IsEmpty()) << "nobody asked for it";
  for (RankDigest& digest : run.digests) {
    for (const CallKind kind : {CallKind::kAllocate, CallKind::kRelease}) {
      Calls& calls = digest.facts.calls[static_cast<size_t>(kind)];
      std::erase_if(calls.kept, [](const Call& call) { return call.at.ns > RuleRun::kStep; });
    }
  }
  EXPECT_THAT(found_memory(run, "memory.allocator-stalls"), IsEmpty()) << "while it warmed up";
}

TEST(MemoryAllocatorStalls, Retries) {
  RuleRun run = memory_run(79);
  of_rank(run, 0).retries = 3;
  const std::vector<Finding> findings = found_memory(run, "memory.allocator-stalls");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_THAT(findings[0].ranks, ElementsAre(0));
}

TEST(MemoryCacheChurn, TheProgramEmptiesItsCache) {
  RuleRun run = stalling_run();
  run.call_all(CallKind::kEmptyCache, 1, 3 * kNsPerMs);
  const std::vector<Finding> findings = found_memory(run, "memory.cache-churn");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_THAT(found_memory(run, "memory.allocator-stalls"), IsEmpty())
      << "one cause is one finding";
}

TEST(MemoryCacheChurn, SegmentsGoBackInEachStep) {
  RuleRun run = memory_run(40);
  for (size_t r = 0; r < 2; ++r) {
    of_rank(run, r).segment_frees_per_step = 3;
    of_rank(run, r).segment_allocs_per_step = 3;
    of_rank(run, r).cache_flushes = RuleRun::kSteady;
  }
  EXPECT_THAT(found_memory(run, "memory.cache-churn"), SizeIs(1));
  for (size_t r = 0; r < 2; ++r) of_rank(run, r).cache_flushes = 2;
  EXPECT_THAT(found_memory(run, "memory.cache-churn"), IsEmpty());
  EXPECT_THAT(found_memory(run, "memory.allocator-stalls"), SizeIs(1));
}

TEST(MemoryFragmentation, BothSharesAreNeeded) {
  RuleRun run = memory_run(40);
  of_rank(run, 0).fragmentation = {.slack = 0.4, .non_releasable = 0.2};
  ASSERT_THAT(found_memory(run, "memory.fragmentation"), SizeIs(1));
  EXPECT_TRUE(is_complete(found_memory(run, "memory.fragmentation")[0]));
  of_rank(run, 0).fragmentation.non_releasable = 0.02;
  EXPECT_THAT(found_memory(run, "memory.fragmentation"), IsEmpty()) << "it could be given back";
}

TEST(MemoryImbalance, AboveFifteenPercent) {
  RuleRun run = memory_run(40);
  run.report.memory->imbalance = MemoryImbalance{.rank = 0,
                                                 .peak = 60 * kGb,
                                                 .median = 40 * kGb,
                                                 .max_over_mean = 1.2,
                                                 .max_less_median = 20 * kGb,
                                                 .ranks = 2};
  ASSERT_THAT(found_memory(run, "memory.imbalance"), SizeIs(1));
  EXPECT_TRUE(is_complete(found_memory(run, "memory.imbalance")[0]));
  run.report.memory->imbalance->max_over_mean = 1.1;
  EXPECT_THAT(found_memory(run, "memory.imbalance"), IsEmpty());
}

TEST(MemoryCandidates, OnlyWhereMemoryIsShort) {
  RuleRun run = memory_run(70, 4);
  run.report.memory->zero =
      ZeroSizing{.rank = 0, .ranks = 4, .share = 0.7, .saved_bytes = {3, 2, 1}, .worthwhile = true};
  run.report.memory->checkpointing =
      CheckpointingSizing{.rank = 0, .share = 0.7, .activation_bytes = 50, .worthwhile = true};
  EXPECT_THAT(found_memory(run, "memory.zero-candidate"), SizeIs(1));
  EXPECT_THAT(found_memory(run, "memory.activations"), SizeIs(1));
  for (RankMemory& memory : run.report.memory->per_rank) memory.soft_headroom = 60 * kGb;
  EXPECT_THAT(found_memory(run, "memory.zero-candidate"), IsEmpty());
  EXPECT_THAT(found_memory(run, "memory.activations"), IsEmpty());
  run = memory_run(70, 4);
  run.report.memory->zero = ZeroSizing{.rank = 0, .ranks = 4, .share = 0.3};
  EXPECT_THAT(found_memory(run, "memory.zero-candidate"), IsEmpty());
}

TEST(MemoryRetainedGraph, ActivationsOfEarlierSteps) {
  RuleRun run = memory_run(40);
  of_rank(run, 1).retained_graph_bytes = 2 * kGb;
  const std::vector<Finding> findings = found_memory(run, "memory.retained-graph");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_THAT(findings[0].ranks, ElementsAre(1));
  of_rank(run, 1).retained_graph_bytes = kGb / 10;
  EXPECT_THAT(found_memory(run, "memory.retained-graph"), IsEmpty());
}

TEST(MemoryHeadroomUnused, OnlyWhereTheDeviceIsNotFilled) {
  RuleRun run = memory_run(10);
  run.kernel_all(KernelClass::kOther, "kernel", 50 * kNsPerMs);
  EXPECT_THAT(found_memory(run, "memory.headroom-unused"), IsEmpty());
  run.set_all(Category::kLaunch, 30 * kNsPerMs);
  for (int r = 0; r < 2; ++r) {
    for (int i = 0; i < 200; ++i) {
      run.facts(r).kernel_ns.add(4'000);
      run.facts(r).start_lag_ns.add(4'000);
    }
  }
  ASSERT_THAT(found_memory(run, "memory.headroom-unused"), SizeIs(1));
  EXPECT_EQ(run.cause_of("memory.headroom-unused"), "host.launch-bound");
  for (RankMemory& memory : run.report.memory->per_rank) memory.soft_headroom = 20 * kGb;
  EXPECT_THAT(found_memory(run, "memory.headroom-unused"), IsEmpty());
}

TEST(MemoryRules, SayNothingWithoutMemory) {
  RuleRun run(2);
  for (const Rule& rule : memory_rules())
    EXPECT_THAT(findings_of(run.input(), rule), IsEmpty()) << rule.name;
}

}  // namespace
}  // namespace dprof::analyzer
