// SPDX-License-Identifier: Apache-2.0
// Stragglers of runs whose truth is known, found by the whole analysis: the rank, the cause, the
// price; and nobody where nothing is wrong. The scoreboard (tests/diagnosis) has many more of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "synth/faults/catalogue.h"
#include "tests/generated/generated_run.h"

namespace dprof {
namespace {

using analyzer::Report;
using synth::Shape;
using synth::Technique;
using ::testing::IsEmpty;

synth::Spec small(Shape shape, Technique technique = Technique::kDdp) {
  synth::Spec spec;
  spec.ranks = 4;
  spec.hosts = 2;
  spec.steps = 30;
  spec.shape = shape;
  spec.technique = technique;
  return spec;
}

bool says(const Report& report, std::string_view code) {
  return std::ranges::any_of(report.recording.diagnostics,
                             [&](const analyzer::Diagnostic& d) { return d.code == code; });
}

std::string named(const Report& report) {
  std::string text;
  if (!report.stragglers) return "not compared";
  for (const analyzer::Straggler& s : *report.stragglers)
    text += (s.rank ? std::to_string(*s.rank) : "-") + " " + s.shape + " " + s.cause + "; ";
  return text;
}

struct FaultCase {
  std::string name;
  Shape shape;
  Technique technique = Technique::kDdp;
  std::string pattern = {};  // empty = persistent
};
void PrintTo(const FaultCase& one, std::ostream* out) {
  *out << one.name << " " << synth::word_of(one.shape) << " " << synth::word_of(one.technique);
}

class GeneratedStragglerTest : public ::testing::TestWithParam<FaultCase> {};

TEST_P(GeneratedStragglerTest, RankCauseAndPrice) {
  const FaultCase& one = GetParam();
  synth::Spec spec = small(one.shape, one.technique);
  synth::FaultSpec fault{.name = one.name, .rank = one.name == "rank0-work" ? 0 : 2};
  if (!one.pattern.empty()) fault.shape = one.pattern;
  if (one.pattern == "periodic") fault.every = 4;
  if (one.pattern == "periodic") fault.ms = 60;
  spec.faults = {fault};
  const Outcome outcome = analysed(spec);
  ASSERT_TRUE(outcome.analysis.report.stragglers);
  ASSERT_EQ(outcome.analysis.report.stragglers->size(), 1U) << named(outcome.analysis.report);
  const analyzer::Straggler& s = outcome.analysis.report.stragglers->front();
  const synth::FaultTruth& truth = outcome.truth.faults.front();
  EXPECT_EQ(s.rank, truth.fault.rank);
  EXPECT_EQ(s.cause, truth.fault.kind->cause);
  EXPECT_EQ(s.shape, one.pattern.empty() ? "persistent" : one.pattern);
  ASSERT_TRUE(truth.cost_ns);
  const auto cost = static_cast<double>(*truth.cost_ns);
  EXPECT_NEAR(static_cast<double>(s.cost_ns), cost, 0.15 * cost);
  ASSERT_TRUE(outcome.analysis.report.detection);
  EXPECT_GT(s.own_delay_ns, outcome.analysis.report.detection->floor_ns);
  // Of a delay in every fourth step too: that the other steps are short speaks for it.
  const bool replayed = outcome.analysis.report.replay->accepted;  // else it is halved
  EXPECT_GT(s.confidence, replayed ? 0.8 : 0.4);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, GeneratedStragglerTest,
    ::testing::Values(
        FaultCase{"slow-forward", Shape::kCpu}, FaultCase{"slow-backward", Shape::kCpu},
        FaultCase{"slow-backward", Shape::kGpu}, FaultCase{"sleep-backward", Shape::kCpu},
        FaultCase{"loader", Shape::kGpu}, FaultCase{"loader", Shape::kCpu, Technique::kZero3},
        FaultCase{"item-sync", Shape::kGpu}, FaultCase{"cpu-contention", Shape::kCpu},
        FaultCase{"input-imbalance", Shape::kGpu},
        FaultCase{"stage-imbalance", Shape::kCpu, Technique::kPipeline},
        FaultCase{"allocator-churn", Shape::kCpu}, FaultCase{"rank0-work", Shape::kCpu},
        FaultCase{"gpu-throttle", Shape::kGpu}, FaultCase{"slow-device", Shape::kGpu},
        FaultCase{"sleep-forward", Shape::kCpu, Technique::kDdp, "periodic"},
        FaultCase{"slow-forward", Shape::kCpu, Technique::kTensorData}),
    [](const auto& test) {
      std::string name = test.param.name + "_" + std::string(synth::word_of(test.param.shape)) +
                         "_" + std::string(synth::word_of(test.param.technique)) +
                         test.param.pattern;
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST(GeneratedStragglersTest, OnsetIsTheFaultsFirstStep) {
  synth::Spec spec = small(Shape::kCpu);
  spec.faults = {{.name = "sleep-backward", .rank = 1, .from = 17}};
  const Outcome outcome = analysed(spec);
  ASSERT_EQ(outcome.analysis.report.stragglers->size(), 1U) << named(outcome.analysis.report);
  const analyzer::Straggler& s = outcome.analysis.report.stragglers->front();
  EXPECT_EQ(s.rank, 1);
  EXPECT_EQ(s.shape, "persistent");
  ASSERT_TRUE(s.onset_step);
  EXPECT_NEAR(static_cast<double>(*s.onset_step), 17, 1);
}

TEST(GeneratedStragglersTest, TwoAtOnceAreBothNamed) {
  synth::Spec spec = small(Shape::kCpu);
  spec.ranks = 8;
  spec.faults = {{.name = "slow-forward", .rank = 1}, {.name = "loader", .rank = 6}};
  const Outcome outcome = analysed(spec);
  std::vector<int> ranks;
  for (const analyzer::Straggler& s : *outcome.analysis.report.stragglers) ranks.push_back(*s.rank);
  EXPECT_THAT(ranks, ::testing::UnorderedElementsAre(1, 6)) << named(outcome.analysis.report);
}

TEST(GeneratedStragglersTest, SlowNodeIsOneVerdict) {
  synth::Spec spec = small(Shape::kCpu);
  spec.ranks = 12;
  spec.hosts = 3;
  for (int rank = 4; rank < 8; ++rank)
    spec.faults.push_back({.name = "slow-rank", .rank = rank, .factor = 1.3});
  const Outcome outcome = analysed(spec);
  ASSERT_EQ(outcome.analysis.report.stragglers->size(), 1U) << named(outcome.analysis.report);
  const analyzer::Straggler& s = outcome.analysis.report.stragglers->front();
  EXPECT_EQ(s.host, "node-1");
  EXPECT_THAT(s.host_ranks, ::testing::ElementsAre(4, 5, 6, 7));
}

// The one verdict on ranks that wait for each other all the time: its price is that of all of them.
analyzer::Straggler of_group(const synth::Spec& spec) {
  const Outcome outcome = analysed(spec);
  EXPECT_THAT(outcome.analysis.report.findings->front().decided_by,
              ::testing::Contains(::testing::HasSubstr(" alone, a step would take ")));
  EXPECT_EQ(outcome.analysis.report.stragglers->size(), 1U) << named(outcome.analysis.report);
  if (outcome.analysis.report.stragglers->empty()) return {};
  const analyzer::Straggler& s = outcome.analysis.report.stragglers->front();
  const auto cost = static_cast<double>(*outcome.truth.faults.front().cost_ns);
  EXPECT_NEAR(static_cast<double>(s.cost_ns), cost, 0.1 * cost);
  return s;
}

TEST(GeneratedStragglersTest, ASlowTensorGroupHasOnePrice) {
  for (const Shape shape : {Shape::kCpu, Shape::kGpu}) {
    synth::Spec spec = small(shape, Technique::kTensorData);
    spec.ranks = 12;
    spec.faults = {{.name = "slow-forward", .rank = 4, .of = "tensor"}};
    const analyzer::Straggler s = of_group(spec);
    EXPECT_THAT(s.host_ranks, ::testing::ElementsAre(4, 5));
    EXPECT_EQ(s.host, "");
    EXPECT_EQ(s.group, "tensor_2");
  }
}

TEST(GeneratedStragglersTest, ASlowPipelineHasOnePrice) {
  synth::Spec spec = small(Shape::kCpu, Technique::kPipeline);
  spec.ranks = 8;
  spec.replicas = 4;
  spec.faults = {{.name = "slow-forward", .rank = 6, .of = "replica"}};
  const analyzer::Straggler s = of_group(spec);
  EXPECT_THAT(s.host_ranks, ::testing::ElementsAre(2, 6));
  EXPECT_EQ(s.group, "pipeline 3 of 4");
}

TEST(GeneratedStragglersTest, UnrelatedRanksAreNoGroup) {
  synth::Spec spec = small(Shape::kCpu, Technique::kTensorData);
  spec.ranks = 12;
  spec.faults = {{.name = "slow-forward", .rank = 4}, {.name = "slow-forward", .rank = 7}};
  const Outcome outcome = analysed(spec);
  EXPECT_EQ(outcome.analysis.report.stragglers->size(), 2U) << named(outcome.analysis.report);
  for (const analyzer::Straggler& s : *outcome.analysis.report.stragglers)
    EXPECT_THAT(s.host_ranks, IsEmpty());
}

class GeneratedHealthyTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GeneratedHealthyTest, NobodyIsNamed) {
  for (const Shape shape : {Shape::kCpu, Shape::kGpu}) {
    synth::Spec spec =
        small(shape, GetParam() == "unequal-stages" ? Technique::kPipeline : Technique::kDdp);
    spec.healthy = GetParam();
    spec.seed = 5;
    const Outcome outcome = analysed(spec);
    ASSERT_TRUE(outcome.analysis.report.stragglers);
    EXPECT_THAT(*outcome.analysis.report.stragglers, IsEmpty()) << named(outcome.analysis.report);
    EXPECT_TRUE(says(outcome.analysis.report, "ranks_alike"));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GeneratedHealthyTest,
                         ::testing::Values("unequal-stages", "rank0-extra", "noisy-hosts",
                                           "variable-sequences", "spikes", "below-floor",
                                           "checkpoints", "warm-up"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(GeneratedStragglersTest, FewStepsAreNotCompared) {
  synth::Spec spec = small(Shape::kCpu);
  spec.steps = 3;
  spec.faults = {{.name = "loader", .rank = 1}};
  const Outcome outcome = analysed(spec);
  EXPECT_FALSE(outcome.analysis.report.stragglers);
  EXPECT_FALSE(outcome.analysis.report.detection);
  EXPECT_TRUE(says(outcome.analysis.report, "not_computed"));
}

// Lost records, a rank without a trace, clocks far apart: the verdict is the same.
TEST(GeneratedStragglersTest, BadRecordingsNameTheSameRank) {
  synth::Spec lossy = small(Shape::kCpu);
  lossy.ranks = 8;
  lossy.faults = {{.name = "sleep-backward", .rank = 5}, {.name = "drop", .probability = 0.005}};
  synth::Spec absent = lossy;
  absent.faults.back() = {.name = "absent", .rank = 3};
  synth::Spec clocks = lossy;
  clocks.faults.pop_back();
  clocks.clocks = {{.host = 1, .offset_ms = 9000, .ppm = 50}};
  clocks.probes.enabled = false;
  for (const synth::Spec& spec : {lossy, absent, clocks}) {
    const Outcome outcome = analysed(spec);
    ASSERT_TRUE(outcome.analysis.report.stragglers);
    ASSERT_EQ(outcome.analysis.report.stragglers->size(), 1U) << named(outcome.analysis.report);
    EXPECT_EQ(outcome.analysis.report.stragglers->front().rank, 5);
    EXPECT_EQ(outcome.analysis.report.stragglers->front().cause, "host");
  }
}

TEST(GeneratedStragglersTest, TwoRanksAreComparedAndItIsSaid) {
  synth::Spec spec = small(Shape::kCpu);
  spec.ranks = 2;
  spec.hosts = 1;
  spec.faults = {{.name = "sleep-backward", .rank = 1}};
  const Outcome outcome = analysed(spec);
  ASSERT_EQ(outcome.analysis.report.stragglers->size(), 1U) << named(outcome.analysis.report);
  EXPECT_EQ(outcome.analysis.report.stragglers->front().rank, 1);
  EXPECT_TRUE(says(outcome.analysis.report, "two_ranks"));
}

}  // namespace
}  // namespace dprof
