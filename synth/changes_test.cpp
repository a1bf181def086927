// SPDX-License-Identifier: Apache-2.0
// The same run with a parameter changed: only what was asked for differs.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "synth/generate.h"

namespace dprof::synth {
namespace {

Spec quiet(Technique technique = Technique::kDdp, Shape shape = Shape::kCpu) {
  Spec spec;
  spec.steps = 10;
  spec.technique = technique;
  spec.shape = shape;
  spec.noise = 0;
  spec.rank_noise = 0;
  return spec;
}

double step_ms(const Spec& spec) {
  const Result<int64_t> length = step_length(spec);
  EXPECT_TRUE(length.ok()) << length.error().what;
  return length.ok() ? static_cast<double>(*length) / 1e6 : -1;
}

std::vector<int64_t> bytes_of_a_step(const Spec& spec) {
  std::vector<Trail> trails;
  EXPECT_TRUE(execute(spec, &trails).ok());
  std::vector<int64_t> bytes;
  for (const WorkDone& work : trails.front().works) {
    if (work.program == 5) bytes.push_back(work.call.bytes);
  }
  return bytes;
}

TEST(Changes, TheLengthOfAStepIsThatOfTheWholeExecution) {
  for (const Technique technique : {Technique::kDdp, Technique::kPipeline, Technique::kZero3}) {
    const Spec spec = quiet(technique);
    const Result<Truth> truth = execute(spec);
    ASSERT_TRUE(truth.ok());
    const Result<int64_t> length = step_length(spec);
    ASSERT_TRUE(length.ok());
    EXPECT_EQ(*length, truth->step_ns);
  }
}

// 8 layers of 1, 2, 3, 4, 1, 2, 3, 4 MiB.
TEST(Changes, BucketsAreFilledByDdpsRule) {
  Spec spec = quiet();
  spec.buckets = 8;
  spec.bytes_per_step = 20 * 1'048'576.0;
  constexpr int64_t kMiB = 1'048'576;
  EXPECT_EQ(bytes_of_a_step(spec).size(), 8U);
  spec.bucket_cap_mb = 4;
  EXPECT_EQ(bytes_of_a_step(spec), (std::vector{kMiB, 5 * kMiB, 4 * kMiB, 6 * kMiB, 4 * kMiB}));
  spec.bucket_cap_mb = 1000;
  EXPECT_EQ(bytes_of_a_step(spec), (std::vector{kMiB, 19 * kMiB}));
}

TEST(Changes, ReductionsAfterBackwardAreNotHidden) {
  Spec spec = quiet();
  spec.hosts = 2;
  spec.bytes_per_step = 20e6;
  const double hidden = step_ms(spec);
  spec.overlap = false;
  EXPECT_GT(step_ms(spec), hidden + 5);
  std::vector<Trail> trails;
  ASSERT_TRUE(execute(spec, &trails).ok());
  const WorkDone& first = trails.front().works[1];
  EXPECT_LT(first.ready, first.enqueue - 20'000'000) << "its gradients were there long before";
}

TEST(Changes, AccumulationReducesOnceForSeveralBatches) {
  Spec spec = quiet();
  const size_t calls = bytes_of_a_step(spec).size();
  const double one = step_ms(spec);
  spec.accumulate = 4;
  EXPECT_EQ(bytes_of_a_step(spec).size(), calls);
  EXPECT_GT(step_ms(spec), 3.5 * one);
  EXPECT_LT(step_ms(spec), 4 * one);
}

TEST(Changes, AFreeLoaderCostsNothingWhateverIsWrongWithIt) {
  Spec spec = quiet();
  const double usual = step_ms(spec);
  spec.faults = {{.name = "loader", .ms = 30}};
  spec.healthy = "all-input";
  EXPECT_GT(step_ms(spec), usual + 30);
  spec.free_input = true;
  EXPECT_NEAR(step_ms(spec), usual - 0.02 * spec.step_ms, 0.1);
}

TEST(Changes, APhaseAnOperatorOrAKernelIsScaled) {
  Spec spec = quiet();
  const double usual = step_ms(spec);
  spec.scales = {{"forward", 0.5}};
  EXPECT_NEAR(step_ms(spec), usual - 0.5 * 0.29 * spec.step_ms, 0.5);
  spec.scales = {{"aten::mm", 0.5}};
  const double faster = usual - step_ms(spec);
  EXPECT_GT(faster, 2);
  EXPECT_LT(faster, 0.5 * 0.58 * spec.step_ms / 3);
  EXPECT_FALSE(parse_scale("aten::nothing=2").ok());
  EXPECT_FALSE(parse_scale("forward").ok());
}

TEST(Changes, AHostThatDispatchesSlowlyHoldsItsDeviceUp) {
  Spec spec = quiet(Technique::kDdp, Shape::kGpu);
  spec.rows_per_step = 600;
  const double usual = step_ms(spec);
  spec.dispatch_us = 300;
  EXPECT_GT(step_ms(spec), usual + 20);
}

TEST(Changes, AStagesReplicasReduceItsGradientsAndTalkToTheirOwnPipeline) {
  Spec spec = quiet(Technique::kPipeline);
  spec.ranks = 8;
  spec.replicas = 2;
  const Result<Truth> truth = execute(spec);
  ASSERT_TRUE(truth.ok());
  std::set<std::string> groups;
  for (const CollectiveTruth& c : truth->collectives) {
    groups.insert(truth->groups[static_cast<size_t>(c.instance.group)].name);
    if (c.instance.peer < 0) continue;
    EXPECT_EQ(c.instance.root % 2, c.instance.peer % 2) << "of one replica";
    EXPECT_EQ(std::abs(c.instance.root / 2 - c.instance.peer / 2), 1) << "of stages side by side";
  }
  EXPECT_EQ(groups, (std::set<std::string>{"default_pg", "pipeline_0", "pipeline_1", "stage_0",
                                           "stage_1", "stage_2", "stage_3"}));
  spec.replicas = 3;
  EXPECT_FALSE(step_length(spec).ok());
  spec = quiet();
  spec.replicas = 2;
  EXPECT_FALSE(step_length(spec).ok());
}

TEST(Changes, CollectionsOfAllRanksCostLessTogether) {
  Spec spec = quiet();
  spec.steps = 44;
  const double usual = step_ms(spec);
  spec.faults = {{.name = "gc-collects", .ms = 50}};
  EXPECT_NEAR(step_ms(spec) - usual, 4 * 5, 1);
  spec.faults.front().shape = "periodic";
  EXPECT_NEAR(step_ms(spec) - usual, 5, 1);
}

// Without the fault the other operators keep their lengths: its cost contains no other noise.
TEST(Changes, AFaultsOperatorsDrawNoOthersNoise) {
  Spec spec = quiet();
  spec.noise = 0.2;
  std::vector<Trail> without;
  ASSERT_TRUE(execute(spec, &without).ok());
  spec.faults = {{.name = "slow-backward", .rank = 1, .ms = 20}};
  std::vector<Trail> with;
  ASSERT_TRUE(execute(spec, &with).ok());
  const auto optimizer_ns = [](const Trail& trail) {
    int64_t sum = 0;
    for (const HostPiece& piece : trail.pieces) {
      if (piece.busy == Busy::kOptimizer) sum += piece.end - piece.begin;
    }
    return sum;
  };
  EXPECT_EQ(optimizer_ns(with[1]), optimizer_ns(without[1]));
}

}  // namespace
}  // namespace dprof::synth
