// SPDX-License-Identifier: Apache-2.0
// The replay of generated runs against the truth: the same run without the fault, by the same seed
// (truth.json's cost_ns). A replay that kept what was recorded as it was would promise nothing
// here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analyzer/replay/step_lengths.h"
#include "tests/generated/replayed_run.h"

namespace dprof {
namespace {

using analyzer::Replay;
using synth::Shape;
using synth::Technique;

synth::Spec job(Shape shape, Technique technique, int ranks = 4) {
  synth::Spec spec;
  spec.ranks = ranks;
  spec.steps = 20;
  spec.shape = shape;
  spec.technique = technique;
  return spec;
}

struct TechniqueCase {
  const char* name;
  Shape shape;
  Technique technique;
};

class IdentityTest : public ::testing::TestWithParam<TechniqueCase> {};

TEST_P(IdentityTest, TheRunUnchangedIsTheRecordedOneAndNothingIsUnexplained) {
  const ReplayedRun run = replayed(job(GetParam().shape, GetParam().technique));
  ASSERT_NE(run.replayer, nullptr);
  const Replay& quality = run.replayer->quality();
  EXPECT_LT(quality.identity_error, 0.0005);
  EXPECT_LT(quality.unexplained, 0.001);
  EXPECT_TRUE(quality.accepted);
  EXPECT_EQ(quality.steps, static_cast<int64_t>(run.replayer->steps().size()));
}

constexpr TechniqueCase kTechniques[] = {{"cpu_ddp", Shape::kCpu, Technique::kDdp},
                                         {"cpu_zero1", Shape::kCpu, Technique::kZero1},
                                         {"cpu_tensor_data", Shape::kCpu, Technique::kTensorData},
                                         {"cpu_pipeline", Shape::kCpu, Technique::kPipeline},
                                         {"gpu_ddp", Shape::kGpu, Technique::kDdp},
                                         {"gpu_zero3", Shape::kGpu, Technique::kZero3},
                                         {"gpu_tensor_data", Shape::kGpu, Technique::kTensorData},
                                         {"gpu_pipeline", Shape::kGpu, Technique::kPipeline}};

INSTANTIATE_TEST_SUITE_P(Generated, IdentityTest, ::testing::ValuesIn(kTechniques),
                         [](const auto& test) { return std::string(test.param.name); });

class RemovedDelayTest : public ::testing::TestWithParam<TechniqueCase> {};

TEST_P(RemovedDelayTest, IsPredictedAsTheRunWithoutItTurnsOut) {
  synth::Spec spec = job(GetParam().shape, GetParam().technique);
  spec.faults = {{.name = "sleep-forward", .rank = 2, .ms = 20}};
  const ReplayedRun run = replayed(spec);
  ASSERT_NE(run.replayer, nullptr);
  ASSERT_TRUE(run.truth.faults.front().cost_ns);
  const auto cost = static_cast<double>(*run.truth.faults.front().cost_ns);
  ASSERT_GT(cost, 0.05 * run.recorded_ns());
  const double promised = run.gain_ns({.rank = 2});
  EXPECT_NEAR(promised, cost, 0.02 * run.recorded_ns());
  EXPECT_NEAR(promised, cost, 0.15 * cost);
}

INSTANTIATE_TEST_SUITE_P(Generated, RemovedDelayTest, ::testing::ValuesIn(kTechniques),
                         [](const auto& test) { return std::string(test.param.name); });

// Behind a long piece of one stage the messages to it wait for each other, and they no longer do
// where it is short. Only that piece is cut.
TEST(RemovedDelayTest, MessagesThatQueuedAreFreeWithoutIt) {
  synth::Spec spec = job(Shape::kCpu, Technique::kPipeline, 8);
  spec.faults = {{.name = "slow-forward", .rank = 3, .ms = 60}};
  const ReplayedRun run = replayed(spec);
  ASSERT_NE(run.replayer, nullptr);
  const auto cost = static_cast<double>(*run.truth.faults.front().cost_ns);
  ASSERT_GT(cost, 40e6);
  analyzer::Relief relief{.entry = 3};
  for (const analyzer::OwnTask& task : run.replayer->own_work(3)) {
    const int64_t length = task.span.length().ns;
    relief.less_ns.push_back(length > 60'000'000 ? 60'000'000 : 0);
  }
  const std::vector<int64_t> gain = run.replayer->gain_of(std::vector{relief});
  EXPECT_NEAR(analyzer::mean_of(gain), cost, 0.1 * cost);
}

// A host that sleeps while its GPU has work costs much less than it sleeps.
TEST(RemovedDelayTest, AGpuThatHasWorkIsNotHeldUpByItsHost) {
  synth::Spec spec = job(Shape::kGpu, Technique::kDdp);
  spec.faults = {{.name = "sleep-backward", .rank = 1, .ms = 20}};
  const ReplayedRun run = replayed(spec);
  ASSERT_NE(run.replayer, nullptr);
  const auto cost = static_cast<double>(*run.truth.faults.front().cost_ns);
  ASSERT_LT(cost, 10e6);
  EXPECT_NEAR(run.gain_ns({.rank = 1}), cost, 0.01 * run.recorded_ns());
}

TEST(RemovedDelayTest, RanksThatAreNotLateCostNothing) {
  const ReplayedRun run = replayed(job(Shape::kGpu, Technique::kDdp));
  ASSERT_NE(run.replayer, nullptr);
  for (size_t rank = 0; rank < 4; ++rank)
    EXPECT_LT(std::abs(run.gain_ns({.rank = rank})), 0.01 * run.recorded_ns()) << rank;
}

}  // namespace
}  // namespace dprof
