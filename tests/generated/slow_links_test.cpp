// SPDX-License-Identifier: Apache-2.0
// Slow links of generated runs: the host is named where groups can be compared, nobody is where
// they cannot, and a network that becomes slow is reported from its step on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analysis.h"
#include "analyzer/run/run.h"
#include "base/check.h"
#include "synth/generate.h"
#include "tests/support/temporary_folder.h"

namespace dprof {
namespace {

using analyzer::Diagnostic;
using analyzer::SlowLinks;
using synth::Technique;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

analyzer::Report report_of(const synth::Spec& spec) {
  const test_support::TemporaryFolder folder;
  const auto run_path = folder.path() / "run";
  DPROF_CHECK(synth::generate(spec, run_path).ok());
  const Result<analyzer::Run> run = analyzer::open_run({run_path});
  DPROF_CHECK(run.ok());
  Result<analyzer::Analysis> analysis = analyzer::analyze(*run, {.pieces = false});
  DPROF_CHECK(analysis.ok());
  return std::move(analysis->report);
}

// Tensor-parallel groups of two hosts each, data-parallel ones across every second host.
synth::Spec tensor_data() {
  synth::Spec spec;
  spec.ranks = 16;
  spec.hosts = 8;
  spec.steps = 20;
  spec.technique = Technique::kTensorData;
  spec.tensor_ranks = 4;
  return spec;
}

synth::Spec pipeline() {
  synth::Spec spec;
  spec.ranks = 8;
  spec.hosts = 8;
  spec.steps = 20;
  spec.technique = Technique::kPipeline;
  return spec;
}

synth::Spec slowed(synth::Spec spec, int host, double factor) {
  spec.faults = {{.name = "slow-link", .host = host, .factor = factor}};
  return spec;
}

struct HostCase {
  const char* name;
  synth::Spec spec;
  int host;
  double factor;
};
void PrintTo(const HostCase& one, std::ostream* out) { *out << one.name; }

class GeneratedSlowHostTest : public ::testing::TestWithParam<HostCase> {};

TEST_P(GeneratedSlowHostTest, IsNamed) {
  const HostCase& one = GetParam();
  const analyzer::Report report = report_of(slowed(one.spec, one.host, one.factor));
  ASSERT_TRUE(report.slow_links);
  const SlowLinks& links = *report.slow_links;
  EXPECT_THAT(links.suspects, ElementsAre("node-" + std::to_string(one.host)));
  EXPECT_FALSE(links.within_only);
  ASSERT_EQ(links.hosts.size(), 1U);
  const analyzer::SlowHost& host = links.hosts.front();
  EXPECT_GE(host.groups, 2);
  // Links are shared: what else is on them takes its part, slow or not.
  EXPECT_GT(host.ratio, 1 + 0.6 * (one.factor - 1));
  EXPECT_LT(host.ratio, 1.15 * one.factor);
  EXPECT_GT(host.excess_ns, 0);
  EXPECT_FALSE(host.onset_step);
  EXPECT_THAT(host.ranks, Each(Ge(0)));
  EXPECT_THAT(links.onsets, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Runs, GeneratedSlowHostTest,
                         ::testing::Values(HostCase{"tensor_data", tensor_data(), 3, 4},
                                           HostCase{"tensor_data_little", tensor_data(), 6, 1.5},
                                           HostCase{"pipeline", pipeline(), 3, 5},
                                           HostCase{"pipeline_last", pipeline(), 7, 5}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(GeneratedSlowLinksTest, AHostThatBecomesSlowHasAnOnset) {
  synth::Spec spec = slowed(tensor_data(), 3, 3);
  spec.steps = 32;
  spec.faults.front().from = 16;
  const analyzer::Report report = report_of(spec);
  ASSERT_TRUE(report.slow_links);
  ASSERT_EQ(report.slow_links->hosts.size(), 1U);
  ASSERT_TRUE(report.slow_links->hosts.front().onset_step);
  EXPECT_NEAR(static_cast<double>(*report.slow_links->hosts.front().onset_step), 16, 3);
  EXPECT_THAT(
      report.slow_links->onsets,
      Contains(Field(&analyzer::SlowTransfers::step, ::testing::AllOf(Ge(15), ::testing::Le(17)))));
}

// All hosts are in the one communicator of DDP: the report shows since when, but
// not which one is slow.
TEST(GeneratedSlowLinksTest, OneCommunicatorOfAllShowsWhenAndNotWhere) {
  synth::Spec spec;
  spec.ranks = 8;
  spec.hosts = 4;
  spec.steps = 40;
  analyzer::Report report = report_of(slowed(spec, 2, 4));
  ASSERT_TRUE(report.slow_links);
  EXPECT_THAT(report.slow_links->suspects, IsEmpty());
  EXPECT_THAT(report.slow_links->groups, IsEmpty());
  EXPECT_THAT(report.slow_links->onsets, IsEmpty());
  EXPECT_THAT(report.recording.diagnostics,
              Contains(Field(&Diagnostic::text, HasSubstr("slow links: fewer than three groups"))));

  spec.faults = {{.name = "slow-network", .factor = 4, .from = 20}};
  report = report_of(spec);
  ASSERT_TRUE(report.slow_links);
  EXPECT_THAT(report.slow_links->suspects, IsEmpty());
  ASSERT_FALSE(report.slow_links->onsets.empty());
  for (const analyzer::SlowTransfers& onset : report.slow_links->onsets) {
    EXPECT_NEAR(static_cast<double>(onset.step), 20, 1);
    EXPECT_NEAR(onset.ratio, 4, 0.6);
  }
}

TEST(GeneratedSlowLinksTest, EverythingEquallySlowAccusesNobody) {
  for (synth::Spec spec : {tensor_data(), pipeline()}) {
    spec.faults = {{.name = "slow-network", .factor = 4}};
    const analyzer::Report report = report_of(spec);
    ASSERT_TRUE(report.slow_links);
    EXPECT_THAT(report.slow_links->groups, IsEmpty());
    EXPECT_THAT(report.slow_links->suspects, IsEmpty());
  }
}

TEST(GeneratedSlowLinksTest, HealthyRunsHaveNone) {
  for (synth::Spec spec : {tensor_data(), pipeline()}) {
    for (const uint64_t seed : {1, 2, 3}) {
      for (const char* healthy : {"", "noisy-hosts", "variable-sequences", "checkpoints"}) {
        spec.seed = seed;
        spec.healthy = healthy;
        const analyzer::Report report = report_of(spec);
        ASSERT_TRUE(report.slow_links);
        EXPECT_THAT(report.slow_links->groups, IsEmpty()) << healthy << ' ' << seed;
        EXPECT_THAT(report.slow_links->suspects, IsEmpty());
        for (const analyzer::SlowTransfers& onset : report.slow_links->onsets) {
          ADD_FAILURE() << healthy << ' ' << seed << ": " << onset.communicator << ' '
                        << onset.ratio << " since step " << onset.step;
        }
      }
    }
  }
}

// Eight replicas of each stage send at once over one interface: messages that meet are long.
TEST(GeneratedSlowLinksTest, MessagesThatMeetAccuseNobody) {
  synth::Spec spec = pipeline();
  spec.ranks = 64;
  spec.replicas = 8;
  spec.steps = 30;
  spec.bytes_per_step = 4e5;
  spec.noise = 0.02;
  spec.rank_noise = 0.005;
  spec.step_noise = 0.02;
  const analyzer::Report report = report_of(spec);
  ASSERT_TRUE(report.slow_links);
  EXPECT_THAT(report.slow_links->suspects, IsEmpty());
  ASSERT_TRUE(report.stragglers);
  EXPECT_THAT(*report.stragglers, IsEmpty());
}

// Eight tensor groups of each host share its paths: some meet the others more often.
TEST(GeneratedSlowLinksTest, GroupsThatMeetWithinTheirHostAccuseNobody) {
  synth::Spec spec = tensor_data();
  spec.ranks = 64;
  spec.hosts = 4;
  spec.tensor_ranks = 2;
  spec.steps = 50;
  for (const uint64_t seed : {1, 2}) {
    spec.seed = seed;
    const analyzer::Report report = report_of(spec);
    ASSERT_TRUE(report.slow_links);
    EXPECT_THAT(report.slow_links->groups, IsEmpty()) << seed;
  }
}

// Each data group reaches over all hosts: there are more groups and buckets than a report lists.
TEST(GeneratedSlowLinksTest, ALinkThatAllDataGroupsPassIsTheNetwork) {
  synth::Spec spec = tensor_data();
  spec.ranks = 64;
  spec.tensor_ranks = 8;
  spec.steps = 40;
  spec.faults = {{.name = "slow-link", .host = 3, .factor = 4, .from = 20}};
  const analyzer::Report report = report_of(spec);
  ASSERT_TRUE(report.stragglers);
  ASSERT_EQ(report.stragglers->size(), 1U);
  EXPECT_EQ(report.stragglers->front().cause, "network");
  EXPECT_FALSE(report.stragglers->front().rank);
  EXPECT_EQ(report.slow_links->onsets.size(), 8U);
}

}  // namespace
}  // namespace dprof
