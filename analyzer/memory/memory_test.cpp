// SPDX-License-Identifier: Apache-2.0
#include "analyzer/memory/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/memory/test_support/training.h"

namespace dprof::analyzer {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMiB = int64_t{1} << 20;

int64_t correctly_attributed(const MemoryUseBytes& found, const MemoryUseBytes& truth) {
  int64_t right = 0;
  for (size_t use = 0; use < kMemoryUses; ++use) right += std::min(found[use], truth[use]);
  return right;
}

int64_t sum_of(const MemoryUseBytes& bytes) {
  int64_t sum = 0;
  for (const int64_t one : bytes) sum += one;
  return sum;
}

std::string all_of(const std::vector<Diagnostic>& notes) {
  std::string all;
  for (const Diagnostic& note : notes) all += note.text + "\n";
  return all;
}

struct CategoryCase {
  const char* name;
  TrainingSpec spec;
  double right;
};
void PrintTo(const CategoryCase& one, std::ostream* out) { *out << one.name; }

class MemoryCategoriesTest : public ::testing::TestWithParam<CategoryCase> {};

TEST_P(MemoryCategoriesTest, TheBytesAtThePeakAreAttributedCorrectly) {
  const Training training(GetParam().spec);
  const Analysed result = analysed(training);
  ASSERT_TRUE(result.memory);
  ASSERT_THAT(result.memory->per_rank, SizeIs(1));
  const RankMemory& rank = result.memory->per_rank.front();
  EXPECT_EQ(rank.peak_allocated, training.peak);
  EXPECT_EQ(rank.peak_step, training.peak_step);
  ASSERT_TRUE(rank.by_category);
  EXPECT_EQ(sum_of(*rank.by_category), training.peak);
  EXPECT_GE(static_cast<double>(correctly_attributed(*rank.by_category, training.at_peak)),
            GetParam().right * static_cast<double>(training.peak));
  int64_t held = 0;
  for (const MemoryHolder& holder : rank.at_peak) held += holder.bytes;
  EXPECT_LE(held, training.peak);
  EXPECT_GE(held, training.peak * 95 / 100);
}

// Exact where the program names its blocks; otherwise decided by the blocks' lives.
INSTANTIATE_TEST_SUITE_P(
    Specs, MemoryCategoriesTest,
    ::testing::Values(
        CategoryCase{"named", {.names = true}, 1}, CategoryCase{"unnamed", {}, 0.95},
        CategoryCase{"many_activations", {.activation_factor = 9}, 0.95},
        CategoryCase{"few_activations", {.layers = {8 * kMiB, 64}, .activation_factor = 1}, 0.95},
        CategoryCase{"no_ops", {.ops = false}, 0.95},
        CategoryCase{"with_totals", {.totals = true}, 0.95},
        CategoryCase{"device",
                     {.device = 1, .layers = {512 * 4096, 512 * 8192, 512 * 64}, .totals = true},
                     0.95}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(MemoryTest, PhasesAndSitesOfThePeak) {
  const Training training({});
  const RankMemory rank = analysed(training).memory->per_rank.front();
  EXPECT_EQ(rank.source, MemorySource::kCountedEvents);
  EXPECT_EQ(rank.peak_phase, "backward");
  ASSERT_FALSE(rank.by_phase.empty());
  EXPECT_EQ(rank.by_phase.front().phase, "backward");
  EXPECT_EQ(rank.by_phase.front().allocated, training.peak);
  const auto of_linear = std::ranges::find(rank.at_peak, "aten::linear", &MemoryHolder::site);
  ASSERT_NE(of_linear, rank.at_peak.end());
  EXPECT_EQ(of_linear->use, MemoryUse::kActivation);
  EXPECT_EQ(of_linear->phase, "forward");
  EXPECT_FALSE(rank.peak_reserved) << "nothing was reserved";
  EXPECT_FALSE(rank.segment_allocs_per_step);
  EXPECT_EQ(rank.retries, 0);
}

TEST(MemoryTest, WhatWasAllocatedBeforeIsAnOffset) {
  TrainingSpec spec{.names = true, .from_start = false};
  const Training training(spec);
  const RankMemory rank = analysed(training).memory->per_rank.front();
  // The parameters were named although their allocations were not recorded.
  EXPECT_EQ(rank.peak_allocated, training.peak);
  EXPECT_EQ(rank.before_bytes, 14'000'000);
  EXPECT_EQ(rank.by_category->at(static_cast<size_t>(MemoryUse::kParameter)), 14'000'000);

  spec.names = false;
  spec.totals = true;  // the allocator itself reports its totals
  const Training silent(spec);
  const RankMemory known = analysed(silent).memory->per_rank.front();
  EXPECT_EQ(known.peak_allocated, silent.peak);
  EXPECT_EQ(known.source, MemorySource::kAllocatorEvents);
  EXPECT_EQ(sum_of(*known.by_category), silent.peak);
  EXPECT_EQ(known.before_bytes, 14'000'000);
}

TEST(MemoryTest, ALeakIsFoundWithItsSite) {
  const Training training({.steps = 60, .leak_per_step = kMiB});
  const Analysed result = analysed(training);
  ASSERT_TRUE(result.memory->leaks);
  ASSERT_THAT(*result.memory->leaks, SizeIs(1));
  const Leak& leak = result.memory->leaks->front();
  EXPECT_NEAR(static_cast<double>(leak.bytes_per_step), static_cast<double>(kMiB), 0.01 * kMiB);
  EXPECT_EQ(leak.source, MemorySource::kCountedEvents);
  EXPECT_FALSE(leak.steps_to_oom);
  ASSERT_FALSE(leak.sites.empty());
  EXPECT_EQ(leak.sites.front().phase, "other");
  EXPECT_GT(leak.sites.front().blocks, 20);
}

TEST(MemoryTest, NoLeakWithoutOneAndNoneClaimedFromTooFewSteps) {
  const Analysed none = analysed(Training({.steps = 60, .retained_every = 20}));
  ASSERT_TRUE(none.memory->leaks);
  EXPECT_THAT(*none.memory->leaks, IsEmpty());
  const Analysed few = analysed(Training({.steps = 10, .leak_per_step = 50 * kMiB}));
  EXPECT_FALSE(few.memory->leaks);
  EXPECT_THAT(all_of(few.notes), HasSubstr("leaks were not looked for"));
}

// If frees can be missing, blocks that seem to stay prove nothing.
TEST(MemoryTest, LostRecordsMakeNoLeak) {
  Training training({.steps = 60, .leak_per_step = kMiB});
  training.losses.push_back(
      {.source = schema::Source::kTorch, .reason = schema::LossReason::kRingFull, .count = 100});
  const Analysed result = analysed(training);
  EXPECT_FALSE(result.memory->leaks);
  EXPECT_EQ(result.memory->per_rank.front().peak_allocated, training.peak);

  Training interrupted({.steps = 60, .leak_per_step = kMiB});
  using schema::CaptureState;
  using schema::DetailLevel;
  for (const DetailLevel detail : {DetailLevel::kFull, DetailLevel::kLight, DetailLevel::kFull}) {
    interrupted.captures.push_back({.time_ns = 1,
                                    .state = CaptureState::kRecording,
                                    .detail = detail,
                                    .cause = schema::CaptureCause::kGovernor});
  }
  EXPECT_FALSE(analysed(interrupted).memory->leaks);

  Training exact({.steps = 60, .leak_per_step = kMiB, .totals = true});
  exact.losses = training.losses;
  EXPECT_THAT(*analysed(exact).memory->leaks, SizeIs(1)) << "the allocator counts by itself";
}

TEST(MemoryTest, RetainedGraphsAreReported) {
  const RankMemory plain = analysed(Training({})).memory->per_rank.front();
  EXPECT_EQ(plain.retained_graph_bytes, 0);
  const RankMemory keeps =
      analysed(Training({.steps = 40, .retained_every = 1})).memory->per_rank.front();
  EXPECT_GE(keeps.retained_graph_bytes, 3 * 8'000'000);
}

TEST(MemoryTest, RanksAgainstEachOther) {
  std::vector<RankDigest> digests;
  for (int rank = 0; rank < 4; ++rank) {
    TrainingSpec spec{.rank = rank};
    if (rank == 2) spec.activation_factor = 9;
    digests.push_back(Training(spec).digest());
  }
  const Memory memory = *analysed(std::move(digests)).memory;
  ASSERT_TRUE(memory.imbalance);
  EXPECT_EQ(memory.imbalance->rank, 2);
  EXPECT_EQ(memory.imbalance->ranks, 4);
  EXPECT_GT(memory.imbalance->max_over_mean, 1.15);
  EXPECT_EQ(memory.imbalance->max_less_median, memory.imbalance->peak - memory.imbalance->median);
  ASSERT_TRUE(memory.checkpointing);
  EXPECT_EQ(memory.checkpointing->rank, 2);
  EXPECT_TRUE(memory.checkpointing->worthwhile);
  EXPECT_FALSE(memory.zero) << "no collective says among whom";
}

TEST(MemoryTest, ResidentSetsAreAllThatIsKnownWithoutAllocations) {
  Training training({.steps = 400});
  training.events.clear();
  for (int64_t i = 0; i < 40; ++i) {
    training.samples.push_back({.time_ns = training.now() * i / 40,
                                .device_id = -1,
                                .allocated_bytes = 1000 * kMiB + i * 30 * kMiB,
                                .peak_allocated_bytes = 3000 * kMiB});
  }
  const Analysed result = analysed(training);
  const RankMemory& rank = result.memory->per_rank.front();
  EXPECT_EQ(rank.source, MemorySource::kResident);
  EXPECT_FALSE(rank.peak_allocated);
  EXPECT_FALSE(rank.by_category);
  ASSERT_THAT(result.memory->host, SizeIs(1));
  EXPECT_EQ(result.memory->host.front().peak_resident, 3000 * kMiB);
  EXPECT_THAT(all_of(result.notes), HasSubstr("only the resident set"));
  ASSERT_TRUE(result.memory->leaks);
  ASSERT_THAT(*result.memory->leaks, SizeIs(1));
  EXPECT_EQ(result.memory->leaks->front().source, MemorySource::kResident);
  EXPECT_NEAR(static_cast<double>(result.memory->leaks->front().bytes_per_step),
              1200.0 * kMiB / 400, 0.1 * 1200 * kMiB / 400);
}

TEST(MemoryTest, StatisticsPerStepGivePeaksAndLeaks) {
  Training training({.device = 0, .steps = 50});
  training.events.clear();
  int64_t step = 0;
  for (int64_t i = 0; i < 50; ++i, ++step) {
    training.samples.push_back(
        {.time_ns = 1'200'000 + (training.now() - 1'300'000) * (i + 1) / 50,
         .device_id = 0,
         .step_index = step,
         .allocated_bytes = 900 * kMiB + i * 4 * kMiB,
         .reserved_bytes = 2000 * kMiB,
         .peak_allocated_bytes = 1500 * kMiB + i * 4 * kMiB,
         .peak_reserved_bytes = i == 0 ? std::optional(2000 * kMiB) : std::nullopt});
  }
  training.devices.push_back({.id = 0, .uuid = "GPU-1", .memory_bytes = 4000 * kMiB});
  training.system(1000, "gpu.uuid.GPU-1", {}, 3);
  training.system(1000, "gpu.memory_total_bytes", 3, 4000 * kMiB);
  training.system(9000, "gpu.memory_used_bytes", 3, 2300 * kMiB);
  const Analysed result = analysed(training);
  const RankMemory& rank = result.memory->per_rank.front();
  EXPECT_EQ(rank.source, MemorySource::kStepSamples);
  EXPECT_EQ(rank.peak_allocated, (1500 + 49 * 4) * kMiB);
  EXPECT_EQ(rank.peak_reserved, 2000 * kMiB);
  EXPECT_EQ(rank.non_torch_peak, 300 * kMiB);
  EXPECT_EQ(rank.hard_headroom, 1700 * kMiB);
  EXPECT_EQ(rank.soft_headroom, (1700 + 2000 - 1696) * kMiB);
  ASSERT_TRUE(rank.fragmentation.slack);
  EXPECT_NEAR(*rank.fragmentation.slack, 1 - 1696.0 / 2000, 1e-9);
  EXPECT_FALSE(rank.fragmentation.non_releasable);
  ASSERT_TRUE(result.memory->leaks);
  ASSERT_THAT(*result.memory->leaks, SizeIs(1));
  const Leak& leak = result.memory->leaks->front();
  EXPECT_NEAR(static_cast<double>(leak.bytes_per_step), 4.0 * kMiB, 0.4 * kMiB);
  ASSERT_TRUE(leak.steps_to_oom);
  EXPECT_NEAR(*leak.steps_to_oom, 2004.0 / 4, 60);
}

TEST(MemoryTest, SegmentsTellOfFragmentationRetriesAndFailures) {
  Training training({.device = 0, .steps = 30, .totals = true});
  const int64_t end = training.now();
  std::vector<schema::MemoryEventRow>& events = training.events;
  for (schema::MemoryEventRow& row : events) row.reserved_bytes = 400 * kMiB;
  // One segment comes and goes per step; one flush frees several in the same operator.
  schema::MemoryEventRow segment = events.back();
  segment.reserved_bytes = 400 * kMiB;
  segment.bytes = 20 * kMiB;
  segment.address = 0x1000;
  segment.time_ns = end - 2000;
  segment.kind = schema::MemoryEventKind::kSegmentFree;
  events.push_back(segment);
  segment.time_ns += 10;
  segment.kind = schema::MemoryEventKind::kSegmentAlloc;
  events.push_back(segment);
  segment.kind = schema::MemoryEventKind::kOom;
  segment.bytes = 100 * kMiB;
  segment.time_ns += 10;
  events.push_back(segment);
  segment.bytes = 4000 * kMiB;
  events.push_back(segment);
  const Analysed result = analysed(training);
  const RankMemory& rank = result.memory->per_rank.front();
  EXPECT_EQ(rank.peak_reserved, 400 * kMiB);
  ASSERT_TRUE(rank.fragmentation.slack);
  EXPECT_GT(*rank.fragmentation.slack, 0.5);
  EXPECT_EQ(rank.retries, 0) << "no operator held both";
  EXPECT_EQ(rank.cache_flushes, 1);
  ASSERT_TRUE(rank.segment_allocs_per_step);
  EXPECT_GT(*rank.segment_allocs_per_step, 0);
  ASSERT_THAT(result.memory->out_of_memory, SizeIs(2));
  EXPECT_EQ(result.memory->out_of_memory[0].fragmented, true);
  EXPECT_EQ(result.memory->out_of_memory[1].fragmented, false);
}

TEST(MemoryTest, NoRowsIsSaid) {
  Training training({});
  training.events.clear();
  const Analysed result = analysed(training);
  EXPECT_FALSE(result.memory);
  EXPECT_THAT(all_of(result.notes), HasSubstr("memory: no trace has"));
}

TEST(MemoryTest, HostileRowsAreLeftOut) {
  Training training({.steps = 40});
  const std::vector<schema::MemoryEventRow> good = training.events;
  schema::MemoryEventRow bad = good.front();
  const auto also = [&](const schema::MemoryEventRow& row) { training.events.push_back(row); };
  bad.bytes = INT64_MAX, also(bad);
  bad.bytes = -1, also(bad);
  bad = good.front(), bad.time_ns = INT64_MIN, also(bad);
  bad = good.front(), bad.device_id = INT64_MAX, also(bad);
  bad = good.front(), bad.device_id = -5, also(bad);
  bad = good.front(), bad.kind = static_cast<schema::MemoryEventKind>(99), also(bad);
  bad = good.back(), bad.allocated_bytes = INT64_MIN, bad.reserved_bytes = INT64_MAX;
  bad.bytes = 0, bad.address = 0, also(bad);
  training.samples.push_back({.time_ns = INT64_MAX, .device_id = -1, .allocated_bytes = 1});
  training.samples.push_back({.time_ns = 5, .device_id = -1, .allocated_bytes = INT64_MIN});
  RankDigest digest = training.digest();
  EXPECT_EQ(digest.memory.bad_rows, 7);
  std::vector<RankDigest> digests;
  digests.push_back(std::move(digest));
  const Analysed result = analysed(std::move(digests));
  EXPECT_EQ(result.memory->per_rank.front().peak_allocated, training.peak);
}

// In a damaged trace times can go back, and sizes can be arbitrarily large.
TEST(MemoryTest, DisorderAndHugeBlocksDoNotOverflow) {
  Training training({.steps = 5});
  std::ranges::reverse(training.events);
  for (int i = 0; i < 70'000; ++i) {
    schema::MemoryEventRow row = training.events.front();
    row.kind = schema::MemoryEventKind::kAlloc;
    row.address = static_cast<int64_t>(static_cast<uint64_t>(i) << 49);
    row.bytes = int64_t{1} << 48;
    training.events.push_back(row);
  }
  const Analysed result = analysed(training);
  ASSERT_TRUE(result.memory);
  EXPECT_GE(result.memory->per_rank.front().peak_allocated.value_or(-1), 0);
}

}  // namespace
}  // namespace dprof::analyzer
