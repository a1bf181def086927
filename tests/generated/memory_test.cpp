// SPDX-License-Identifier: Apache-2.0
// Memory of generated runs against synth's truth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/generated/generated_run.h"

namespace dprof {
namespace {

using synth::Shape;
using ::testing::IsEmpty;
using ::testing::SizeIs;

synth::Spec small_memory(Shape shape) {
  synth::Spec spec;
  spec.ranks = 4;
  spec.steps = 40;
  spec.shape = shape;
  return spec;
}

class GeneratedMemoryTest : public ::testing::TestWithParam<Shape> {};

TEST_P(GeneratedMemoryTest, PeaksAreTheAllocatorsOwn) {
  for (const synth::Technique technique :
       {synth::Technique::kDdp, synth::Technique::kZero3, synth::Technique::kPipeline}) {
    synth::Spec spec = small_memory(GetParam());
    spec.technique = technique;
    spec.faults = {{.name = "input-imbalance", .rank = 2, .factor = 1.5}};
    const Outcome outcome = analysed(spec);
    ASSERT_TRUE(outcome.analysis.report.memory);
    const analyzer::Memory& memory = *outcome.analysis.report.memory;
    ASSERT_THAT(memory.per_rank, SizeIs(4));
    for (const analyzer::RankMemory& rank : memory.per_rank) {
      const synth::RankTruth& truth = outcome.truth.ranks[static_cast<size_t>(rank.rank)];
      EXPECT_EQ(rank.peak_allocated, truth.peak_allocated_bytes);
      EXPECT_EQ(rank.peak_reserved, truth.peak_reserved_bytes);
      EXPECT_EQ(rank.source, analyzer::MemorySource::kAllocatorEvents);
      EXPECT_EQ(rank.device, GetParam() == Shape::kGpu ? 0 : -1);
      ASSERT_TRUE(rank.unknown_share);
      EXPECT_EQ(*rank.unknown_share, 0) << "synth names every block";
    }
    ASSERT_TRUE(memory.leaks);
    EXPECT_THAT(*memory.leaks, IsEmpty());
    if (technique != synth::Technique::kDdp) continue;  // the others make no activations
    ASSERT_TRUE(memory.imbalance);
    EXPECT_EQ(memory.imbalance->rank, 2);
  }
}

TEST_P(GeneratedMemoryTest, ALeakHasItsSlope) {
  for (const int64_t mib : {1, 5}) {
    synth::Spec spec = small_memory(GetParam());
    spec.faults = {{.name = "leak", .rank = 3, .count = mib}};
    const Outcome outcome = analysed(spec);
    ASSERT_TRUE(outcome.analysis.report.memory && outcome.analysis.report.memory->leaks);
    ASSERT_THAT(*outcome.analysis.report.memory->leaks, SizeIs(1));
    const analyzer::Leak& leak = outcome.analysis.report.memory->leaks->front();
    EXPECT_EQ(leak.rank, 3);
    const auto truth = static_cast<double>(mib << 20);
    EXPECT_NEAR(static_cast<double>(leak.bytes_per_step), truth, 0.02 * truth);
    ASSERT_TRUE(outcome.analysis.report.stragglers);
    EXPECT_THAT(*outcome.analysis.report.stragglers, IsEmpty()) << "it costs no time";
  }
}

// Batches of varying lengths, warm-up, checkpoints: nothing leaks.
TEST_P(GeneratedMemoryTest, HealthyRunsDoNotLeak) {
  for (const std::string healthy : {"variable-sequences", "warm-up", "checkpoints", "spikes"}) {
    synth::Spec spec = small_memory(GetParam());
    spec.steps = 60;
    spec.healthy = healthy;
    const Outcome outcome = analysed(spec);
    ASSERT_TRUE(outcome.analysis.report.memory && outcome.analysis.report.memory->leaks) << healthy;
    EXPECT_THAT(*outcome.analysis.report.memory->leaks, IsEmpty()) << healthy;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, GeneratedMemoryTest, ::testing::Values(Shape::kCpu, Shape::kGpu),
                         [](const auto& test) {
                           return test.param == Shape::kCpu ? "cpu" : "gpu";
                         });

}  // namespace
}  // namespace dprof
