// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/network.h"

#include <gtest/gtest.h>

#include "analyzer/breakdown/slow_links.h"

namespace dprof::analyzer {
namespace {

constexpr int64_t kNetworkMs = 1'000'000;
constexpr int64_t kNetworkSteps = 40;
constexpr int64_t kSince = 20;

// Two ranks that reduce once per step; from one step on transfers, and steps, take longer.
struct NetworkJob {
  std::vector<RankDigest> digests = std::vector<RankDigest>(2);
  std::vector<TraceFile> traces = std::vector<TraceFile>(2);
  Steps steps;
  Matching matching;
  LinkStudy study;

  NetworkJob(int64_t slower_transfers_ns, int64_t slower_steps_ns) {
    traces[0].host = "a";
    traces[1].host = "b";
    traces[1].rank = 1;
    Group group;
    group.name = "all";
    group.members = {0, 1};
    group.digests = {0, 1};
    matching.groups.push_back(group);
    for (int64_t s = 0; s < kNetworkSteps; ++s) {
      AlignedStep step;
      step.index = s;
      step.longest_ns = 100 * kNetworkMs + (s >= kSince ? slower_steps_ns : 0) + s % 2 * kNetworkMs;
      steps.steps.push_back(step);
      Instance instance;
      instance.function = schema::Function::kAllReduce;
      instance.bytes = 1000;
      instance.comparable = true;
      instance.step = s;
      instance.members.resize(2);
      instance.members[1].digest = 1;
      matching.instances.push_back(instance);
    }
    steps.ranks = {0, 1};
    steps.first_steady = 2;
    steps.last_steady = static_cast<size_t>(kNetworkSteps) - 1;
    steps.info.median_ns = 100 * kNetworkMs;
    study.slower.push_back({{.communicator = "all",
                             .function = schema::Function::kAllReduce,
                             .bytes = 1000,
                             .ratio = 2,
                             .step = kSince,
                             .excess_ns = slower_transfers_ns},
                            {0, 1}});
  }

  [[nodiscard]] std::vector<Verdict> verdicts() const {
    return network_verdicts({.digests = digests,
                             .traces = traces,
                             .steps = steps,
                             .matching = matching,
                             .pieces = {},
                             .links = &study});
  }
};

TEST(NetworkTest, TransfersThatBecameSlowerForAllAreNobodysLink) {
  const std::vector<Verdict> verdicts = NetworkJob(30 * kNetworkMs, 28 * kNetworkMs).verdicts();
  ASSERT_EQ(verdicts.size(), 1U);
  const Straggler& s = verdicts.front().straggler;
  EXPECT_EQ(s.cause, "network");
  EXPECT_FALSE(s.rank);
  EXPECT_EQ(s.onset_step, kSince);
  EXPECT_TRUE(verdicts.front().named);
  // In 20 of 38 steady steps, and at most what the steps lost.
  EXPECT_NEAR(static_cast<double>(s.cost_ns), 28e6 * 20 / 38, static_cast<double>(kNetworkMs) / 2);
  EXPECT_GT(s.bound_ns, 0);
}

TEST(NetworkTest, WhatIsHiddenCostsNothing) {
  EXPECT_TRUE(NetworkJob(30 * kNetworkMs, 0).verdicts().empty());
}

TEST(NetworkTest, StepsThatLostMoreHaveAnotherReason) {
  EXPECT_TRUE(NetworkJob(30 * kNetworkMs, 80 * kNetworkMs).verdicts().empty());
}

TEST(NetworkTest, WithinOneHostItIsNoNetwork) {
  NetworkJob job(30 * kNetworkMs, 28 * kNetworkMs);
  job.traces[1].host = "a";
  EXPECT_TRUE(job.verdicts().empty());
}

// Four hosts; only transfers that involve one of them became slower.
TEST(NetworkTest, TheHostThatSlowerMessagesHaveInCommon) {
  NetworkJob job(30 * kNetworkMs, 28 * kNetworkMs);
  job.traces.resize(4);
  for (int rank = 0; rank < 4; ++rank) {
    job.traces[static_cast<size_t>(rank)].rank = rank;
    job.traces[static_cast<size_t>(rank)].host = std::string(1, static_cast<char>('a' + rank));
  }
  job.study.slower.push_back(job.study.slower.front());
  job.study.slower.back().ranks = {1, 2};
  job.study.unchanged = {{2, 3}, {0, 3}};
  const std::vector<Verdict> verdicts = job.verdicts();
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts.front().straggler.host, "b");
  EXPECT_EQ(verdicts.front().straggler.rank, 1);
}

TEST(NetworkTest, SlowGroupsWithoutACommonHostAreNobodysLink) {
  NetworkJob job(0, 0);
  job.study.slower.clear();
  job.study.somewhere = SlowHost{.groups = 2, .ratio = 3, .excess_ns = 20 * kNetworkMs};
  const std::vector<Verdict> verdicts = job.verdicts();
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts.front().straggler.cause, "network");
  EXPECT_FALSE(verdicts.front().straggler.rank);
  EXPECT_TRUE(verdicts.front().named);
}

TEST(NetworkTest, GroupsThatCanBeDistinguishedDecide) {
  NetworkJob job(30 * kNetworkMs, 28 * kNetworkMs);
  job.study.links.hosts.push_back({.host = "b", .ranks = {1}, .excess_ns = 20 * kNetworkMs});
  const std::vector<Verdict> verdicts = job.verdicts();
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts.front().straggler.host, "b");
}

}  // namespace
}  // namespace dprof::analyzer
