// SPDX-License-Identifier: Apache-2.0
#include "analyzer/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace dprof::analyzer {
namespace {

constexpr int64_t kStepNs = 1000;
constexpr int64_t kSteps = 10;
constexpr int64_t kFirstSteady = 2;

void add(Lane& lane, int64_t start, int64_t length, int32_t name) {
  lane.start_ns.push_back(start);
  lane.duration_ns.push_back(length);
  lane.name.push_back(name);
  lane.row.push_back(static_cast<int64_t>(lane.row.size()));
  lane.phase.push_back(0);
}

// Steps of 1000 ns, in each of which "outer" takes 600 ns, with "inner" inside it.
struct MadeRun {
  explicit MadeRun(int64_t inner_ns, int kernels = 1, int ranks = 2) {
    report.run.steps = StepsInfo{.count = kSteps,
                                 .first_steady = kFirstSteady,
                                 .last_steady = kSteps - 1,
                                 .steady = kSteps - kFirstSteady,
                                 .median_ns = kStepNs};
    lanes.resize(static_cast<size_t>(ranks));
    for (RankLanes& rank : lanes) {
      rank.names = {"outer", "inner", "gemm", "warm-up only"};
      rank.threads = {{.table = "host_range", .depths = std::vector<Lane>(2)},
                      {.table = "gpu_activity", .depths = std::vector<Lane>(1)}};
      for (int64_t step = 0; step < kSteps; ++step) {
        const int64_t begin = step * kStepNs;
        add(rank.threads[0].depths[0], begin, 600, 0);
        if (step == 1) add(rank.threads[0].depths[0], begin + 700, 100, 3);
        add(rank.threads[0].depths[1], begin + 10, inner_ns, 1);
        for (int k = 0; k < kernels; ++k)
          add(rank.threads[1].depths[0], begin + int64_t{50} * k, 50, 2);
      }
    }
    for (int64_t step = 0; step < kSteps; ++step)
      steps.push_back({step, {TraceNs{step * kStepNs}, TraceNs{(step + 1) * kStepNs}}});
  }
  [[nodiscard]] ComparedRun compared() const {
    ComparedRun run{.report = &report};
    for (const RankLanes& rank : lanes) run.ranks.push_back({&rank, steps});
    return run;
  }

  Report report;
  std::vector<RankLanes> lanes;
  std::vector<StepWindow> steps;
};

const ComparedName* find(const RunComparison& comparison, std::string_view name) {
  const auto found = std::ranges::find(comparison.names, name, &ComparedName::name);
  return found == comparison.names.end() ? nullptr : &*found;
}

TEST(Compare, NamesPerRankAndStepLargestDifferenceFirst) {
  const MadeRun a(100);
  const MadeRun b(250, 3, 4);
  const RunComparison comparison = compare(a.compared(), b.compared());
  ASSERT_NE(find(comparison, "inner"), nullptr);
  EXPECT_DOUBLE_EQ(find(comparison, "inner")->difference_ns(), 150);
  EXPECT_DOUBLE_EQ(find(comparison, "inner")->a->count, 1) << "whatever the number of ranks";
  EXPECT_DOUBLE_EQ(find(comparison, "outer")->a->total_ns, 600);
  EXPECT_DOUBLE_EQ(find(comparison, "outer")->a->self_ns, 500);
  EXPECT_DOUBLE_EQ(find(comparison, "outer")->difference_ns(), -150);
  EXPECT_TRUE(find(comparison, "gemm")->on_device);
  EXPECT_DOUBLE_EQ(find(comparison, "gemm")->b->count, 3);
  EXPECT_DOUBLE_EQ(find(comparison, "gemm")->difference_ns(), 100);
  EXPECT_EQ(comparison.names.back().name, "gemm");
}

TEST(Compare, WarmUpDoesNotCountAndWhatOneRunLacksIsSaid) {
  const MadeRun a(100);
  MadeRun b(100);
  for (RankLanes& rank : b.lanes) rank.names[1] = "renamed";
  const RunComparison comparison = compare(a.compared(), b.compared());
  ASSERT_NE(find(comparison, "inner"), nullptr);
  EXPECT_FALSE(find(comparison, "inner")->b);
  EXPECT_DOUBLE_EQ(find(comparison, "inner")->difference_ns(), -100);
  EXPECT_FALSE(find(comparison, "renamed")->a);
  EXPECT_EQ(find(comparison, "warm-up only"), nullptr);
}

TEST(Compare, ARunWithItselfDiffersNowhere) {
  const MadeRun a(123);
  for (const ComparedName& name : compare(a.compared(), a.compared()).names)
    EXPECT_DOUBLE_EQ(name.difference_ns(), 0) << name.name;
}

TEST(Compare, WhatNothingEndedHasNoDurationAndDoesNotCount) {
  MadeRun a(100);
  RankLanes& cut_off = a.lanes[0];
  Lane& outer = cut_off.threads[0].depths[0];
  add(outer, kSteps * kStepNs - 100, 100, 0);
  cut_off.span = {{0}, {kSteps * kStepNs}};
  cut_off.open_slices = 1;
  const MadeRun whole(100);
  const RunComparison comparison = compare(a.compared(), whole.compared());
  EXPECT_DOUBLE_EQ(find(comparison, "outer")->a->count, 1);
  EXPECT_DOUBLE_EQ(find(comparison, "outer")->difference_ns(), 0);
}

TEST(Compare, LengthsAreCountedPerRankAndStepInHalfOctaves) {
  for (const int64_t ns : {2, 3, 5, 6, 7, 1000, 1'000'000'007}) {
    EXPECT_LE(bucket_begin_ns(length_bucket(ns)), ns);
    EXPECT_GT(bucket_begin_ns(length_bucket(ns) + 1), ns);
  }
  EXPECT_EQ(length_bucket(0), 0U);
  EXPECT_EQ(length_bucket(1), 0U);
  const MadeRun a(100, 3);
  const MadeRun b(400, 1);
  const RunComparison comparison = compare(a.compared(), b.compared());
  const ComparedName* inner = find(comparison, "inner");
  ASSERT_NE(inner, nullptr);
  EXPECT_DOUBLE_EQ(inner->a->by_length.at(length_bucket(100)), 1);
  EXPECT_DOUBLE_EQ(inner->b->by_length.at(length_bucket(400)), 1);
  EXPECT_DOUBLE_EQ(inner->b->by_length.at(length_bucket(100)), 0);
  EXPECT_DOUBLE_EQ(find(comparison, "gemm")->a->by_length.at(length_bucket(50)), 3);
}

TEST(Compare, WithoutStepsItSaysSo) {
  MadeRun a(100);
  a.report.run.steps.reset();
  const RunComparison comparison = compare(a.compared(), a.compared());
  EXPECT_TRUE(comparison.names.empty());
  EXPECT_FALSE(comparison.why_no_names.empty());
}

TEST(Compare, NamesAreAlignedWithoutTemplatesAddressesAndNumbers) {
  for (const auto& [name, want] : std::vector<std::pair<std::string, std::string>>{
           {"aten::mm", "aten::mm"},
           {"void at::native::kernel<4, Foo<int> >(int, Foo<int>)", "void at::native::kernel"},
           {"ProfilerStep#12", "ProfilerStep#"},
           {"Optimizer.step#SGD.step", "Optimizer.step#SGD.step"},
           {"hook at 0x7f00ab12 of it", "hook at 0x of it"},
           {"<lambda>", "<lambda>"},
           {"a < b", "a < b"},
           {"cut off<int, ", "cut off<int, "},
           {"", ""}}) {
    EXPECT_EQ(aligned_name(name), want) << name;
  }
}

TEST(Compare, TheReportsNamesAreAlignedAndTheLargestComeFirst) {
  MadeRun run(100, 3);
  run.lanes[0].names[2] = "gemm<128>";
  run.lanes[1].names[2] = "gemm<64>";
  const std::optional<Names> names = names_of(run.compared(), {0, 1});
  ASSERT_TRUE(names);
  ASSERT_EQ(names->list.size(), 3U);
  EXPECT_EQ(names->list[0].name, "outer");
  EXPECT_EQ(names->list[0].self_ns, 500);
  EXPECT_EQ(names->list[1].name, "gemm");
  EXPECT_DOUBLE_EQ(names->list[1].count, 3);
  EXPECT_EQ(names->list[1].self_ns, 150);
  EXPECT_EQ(names->left_out, 0);
}

TEST(StepsToCountTest, OfManyEventsOnlyThoseOfTheLastSteadySteps) {
  std::vector<StepWindow> steps(100);
  for (size_t s = 0; s < steps.size(); ++s) steps[s].index = static_cast<int64_t>(s);
  const StepsInfo info{.first_steady = 1, .last_steady = 98};
  EXPECT_EQ(steps_to_count(steps, info, Names::kMostEvents).size(), 100U);
  const std::span<const StepWindow> some = steps_to_count(steps, info, 4 * Names::kMostEvents);
  ASSERT_EQ(some.size(), 25U);
  EXPECT_EQ(some.front().index, 74);
  EXPECT_EQ(some.back().index, 98);
  EXPECT_EQ(steps_to_count(steps, info, 1000 * Names::kMostEvents).size(), 1U);
  EXPECT_TRUE(steps_to_count({}, info, 1000 * Names::kMostEvents).empty());
}

}  // namespace
}  // namespace dprof::analyzer
