// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/digest/test_support/edit_records.h"

namespace dprof::analyzer {
namespace {

RankDigest rank_with(int rank, const std::vector<StepRecord>& steps) {
  RankDigest digest;
  digest.rank = rank;
  digest.steps = steps;
  digest.steps_begun = static_cast<int64_t>(steps.size());
  return digest;
}

// Steps of the given lengths, one after the other, 10 ns apart.
RankDigest rank_of_lengths(int rank, const std::vector<int64_t>& lengths, int64_t begin = 0) {
  std::vector<StepRecord> steps;
  for (const int64_t length : lengths) {
    steps.push_back({static_cast<int64_t>(steps.size()), {{begin}, {begin + length}}});
    begin += length + 10;
  }
  return rank_with(rank, steps);
}

TEST(EndOfWarmUpTest, TwoStepsAlwaysGo) {
  EXPECT_EQ(end_of_warm_up(std::vector<int64_t>(30, 1000)), 2U);
}

TEST(EndOfWarmUpTest, SlowBeginGoes) {
  std::vector<int64_t> lengths(40, 1000);
  for (size_t i = 0; i < 10; ++i) lengths[i] = 5000;
  for (size_t i = 0; i < lengths.size(); ++i) lengths[i] += static_cast<int64_t>(i % 7) * 3;
  const size_t end = end_of_warm_up(lengths);
  EXPECT_GE(end, 8U);
  EXPECT_LE(end, 10U);
}

TEST(EndOfWarmUpTest, FewStepsKeepWhatThereIs) {
  EXPECT_EQ(end_of_warm_up({1000}), 0U);
  EXPECT_EQ(end_of_warm_up({1000, 900}), 0U);
  EXPECT_EQ(end_of_warm_up({1000, 900, 800}), 2U);
}

TEST(EndOfWarmUpTest, NeverMoreThanHalf) {
  std::vector<int64_t> falling;
  for (int64_t i = 0; i < 40; ++i) falling.push_back(100'000 - i * 2000);
  EXPECT_LE(end_of_warm_up(falling), 20U);
}

TEST(AlignStepsTest, IndicesThatAllRanksHave) {
  std::vector<RankDigest> digests = {rank_of_lengths(0, {100, 100, 100, 100}),
                                     rank_of_lengths(1, {120, 90, 100, 80})};
  digests[1].steps.pop_back();
  std::vector<Diagnostic> diagnostics;
  const auto steps = align_steps(digests, {}, diagnostics);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->info.count, 3);
  EXPECT_EQ(steps->info.first_steady, 2);
  EXPECT_EQ(steps->steps[0].longest_ns, 120);
  EXPECT_EQ(steps->steps[1].longest_ns, 100);
  ASSERT_EQ(diagnostics.size(), 1U);  // one step more or less is usual
  EXPECT_EQ(diagnostics[0].code, "few_steps");
}

TEST(AlignStepsTest, RankWithoutStepsIsNamedAndLeftOut) {
  std::vector<RankDigest> digests = {rank_of_lengths(0, std::vector<int64_t>(20, 100)),
                                     rank_of_lengths(1, {})};
  digests[1].steps_begun = 1;
  std::vector<Diagnostic> diagnostics;
  const auto steps = align_steps(digests, {}, diagnostics);
  ASSERT_TRUE(steps);
  EXPECT_THAT(steps->ranks, ::testing::ElementsAre(0));
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].code, "rank_without_steps");
  EXPECT_EQ(diagnostics[0].text, "rank 1 has no complete step (1 begun)");
}

TEST(AlignStepsTest, NoStepsAtAll) {
  std::vector<Diagnostic> diagnostics;
  EXPECT_FALSE(align_steps(std::vector{rank_of_lengths(0, {})}, {}, diagnostics));
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].code, "no_steps");
}

TEST(AlignStepsTest, OverlappingAndEmptyStepsAreLeftOutAndSaid) {
  const std::vector<RankDigest> digests = {rank_with(
      0, {{0, {{0}, {100}}}, {1, {{50}, {150}}}, {2, {{200}, {200}}}, {3, {{300}, {400}}}})};
  std::vector<Diagnostic> diagnostics;
  const auto steps = align_steps(digests, {}, diagnostics);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->info.count, 2);
  EXPECT_EQ(diagnostics[0].code, "uneven_steps");
}

TEST(AlignStepsTest, CheckpointStepsStayOutOfTheMedian) {
  std::vector<int64_t> lengths(20, 100);
  for (size_t i = 4; i < lengths.size(); ++i) lengths[i] = i % 2 == 0 ? 100 : 900;
  RankDigest digest = rank_of_lengths(0, lengths);
  for (const StepRecord& step : digest.steps) {
    if (step.window.length().ns == 900)
      digest.phases.push_back(
          {{step.window.begin + DurationNs{5}, step.window.end}, schema::Marker::kCheckpoint, 1});
  }
  std::vector<Diagnostic> diagnostics;
  const auto steps = align_steps(std::vector{digest}, {}, diagnostics);
  EXPECT_EQ(steps->info.median_ns, 100);
}

TEST(AlignStepsTest, GapsInTheNumbersStay) {
  RankDigest digest = rank_of_lengths(0, std::vector<int64_t>(12, 100));
  for (size_t s = 6; s < 12; ++s) digest.steps[s].index += 100;  // a second capture window
  std::vector<Diagnostic> diagnostics;
  const auto steps = align_steps(std::vector{digest}, {}, diagnostics);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->info.count, 12);
  EXPECT_EQ(steps->info.last_steady, 111);
  EXPECT_EQ(steps->steps[6].index, 106);
  EXPECT_EQ(steps->info.steady, 10) << "steps that were not recorded do not count";
}

TEST(AlignStepsTest, RankWithHardlyAnyStepsIsLeftOut) {
  const std::vector<RankDigest> digests = {rank_of_lengths(0, std::vector<int64_t>(20, 100)),
                                           rank_of_lengths(1, std::vector<int64_t>(20, 100)),
                                           rank_of_lengths(2, std::vector<int64_t>(3, 100))};
  std::vector<Diagnostic> diagnostics;
  const auto steps = align_steps(digests, {}, diagnostics);
  ASSERT_TRUE(steps);
  EXPECT_THAT(steps->ranks, ::testing::ElementsAre(0, 1));
  EXPECT_EQ(steps->info.count, 20);
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].code, "rank_with_few_steps");
}

TEST(AlignStepsTest, WindowsThatDoNotOverlapInTimeAreTheSameStep) {
  // The second rank's clock is an hour ahead.
  const std::vector<RankDigest> digests = {
      rank_of_lengths(0, std::vector<int64_t>(12, 100)),
      rank_of_lengths(1, std::vector<int64_t>(12, 110), 3'600'000'000'000)};
  std::vector<Diagnostic> diagnostics;
  const auto steps = align_steps(digests, {}, diagnostics);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->info.count, 12);
  EXPECT_EQ(steps->info.median_ns, 110);
}

// Collectives in the middle of each step, of the given bytes.
void add_collectives(RankDigest& digest, const std::vector<int64_t>& bytes) {
  if (digest.communicators.empty()) digest.communicators.push_back({});
  for (const StepRecord& step : digest.steps) {
    const int64_t apart = step.window.length().ns / static_cast<int64_t>(bytes.size() + 1);
    for (size_t i = 0; i < bytes.size(); ++i) {
      CollectiveRecord record;
      record.bytes = bytes[i];
      record.start = step.window.begin + DurationNs{static_cast<int64_t>(i + 1) * apart};
      record.end = *record.start + DurationNs{1};
      digest.collectives.push_back(record);
    }
  }
}

TEST(OuterEventsTest, OtherCollectivesThanUsual) {
  std::vector<int64_t> lengths(20, 1000);
  lengths[9] = 2500;
  lengths[15] = 2600;
  std::vector<RankDigest> digests = {rank_of_lengths(0, lengths), rank_of_lengths(1, lengths)};
  for (RankDigest& digest : digests) {
    add_collectives(digest, {64, 128, 256});
    for (const size_t s : {9, 15}) {
      CollectiveRecord loss;
      loss.bytes = 4;
      loss.start = loss.end = digest.steps[s].window.begin + DurationNs{2};
      digest.collectives.push_back(loss);
    }
    digest.marked.push_back({"validation", {{.step = 9, .count = 1, .total_ns = 1500}}});
  }
  // One rank lost a record: that is not an event of the run.
  erase_record(digests[1].collectives, 12 * 3);
  std::vector<Diagnostic> diagnostics;
  const auto steps = align_steps(digests, {}, diagnostics);
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->info.outer.size(), 2U);
  EXPECT_EQ(steps->info.outer[0].step, 9);
  EXPECT_EQ(steps->info.outer[0].kind, "validation");
  EXPECT_EQ(steps->info.outer[0].extra_ns, 1500);
  EXPECT_EQ(steps->info.outer[1].step, 15);
  EXPECT_EQ(steps->info.outer[1].kind, "other");
  EXPECT_EQ(steps->info.median_ns, 1000);
}

TEST(OuterEventsTest, LongStepNeedsANameToBeOne) {
  std::vector<int64_t> lengths(20, 1000);
  lengths[8] = 9000;
  lengths[12] = 9000;
  lengths[14] = 1100;
  RankDigest digest = rank_of_lengths(0, lengths);
  digest.marked.push_back(
      {"save_model",
       {{.step = 8, .count = 1, .total_ns = 8000}, {.step = 14, .count = 1, .total_ns = 100}}});
  std::vector<Diagnostic> diagnostics;
  const auto steps = align_steps(std::vector{digest}, {}, diagnostics);
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->info.outer.size(), 1U);
  EXPECT_EQ(steps->info.outer[0].step, 8);
  EXPECT_EQ(steps->info.outer[0].kind, "checkpoint");
}

TEST(OuterEventsTest, ChangingCollectivesAreNoEvents) {
  RankDigest digest = rank_of_lengths(0, std::vector<int64_t>(20, 1000));
  add_collectives(digest, {64, 128});
  for (size_t i = 0; i < digest.collectives.size(); ++i)
    digest.collectives.edit(i).bytes = static_cast<int64_t>(i);
  std::vector<Diagnostic> diagnostics;
  const auto steps = align_steps(std::vector{digest}, {}, diagnostics);
  ASSERT_TRUE(steps);
  EXPECT_TRUE(steps->info.outer.empty());
}

TEST(MicroStepsTest, ByMarks) {
  RankDigest digest = rank_of_lengths(0, std::vector<int64_t>(12, 1000));
  MarkedPhase marked{"micro_step", {}};
  for (size_t s = 0; s < 12; ++s) marked.in_steps.push_back({.step = s, .count = 4, .total_ns = 9});
  digest.marked.push_back(marked);
  std::vector<Diagnostic> diagnostics;
  EXPECT_EQ(align_steps(std::vector{digest}, {}, diagnostics)->info.micro_steps, 4);
}

TEST(MicroStepsTest, ByForwardsAndBackwards) {
  RankDigest digest = rank_of_lengths(0, std::vector<int64_t>(12, 1000));
  for (const StepRecord& step : digest.steps) {
    for (int64_t k = 0; k < 3; ++k) {
      const TraceNs begin = step.window.begin + DurationNs{k * 300};
      digest.phases.push_back({{begin, begin + DurationNs{100}}, schema::Marker::kForward, 0});
      digest.phases.push_back(
          {{begin + DurationNs{100}, begin + DurationNs{250}}, schema::Marker::kBackward, 0});
    }
  }
  std::vector<Diagnostic> diagnostics;
  EXPECT_EQ(align_steps(std::vector{digest}, {}, diagnostics)->info.micro_steps, 3);
}

// Gathers per layer in forward, gathers and scatters in backward; the norm at the end.
std::vector<int64_t> sharded_step(int64_t layers, int64_t accumulated) {
  std::vector<int64_t> bytes;
  for (int64_t micro = 0; micro < accumulated; ++micro) {
    for (int64_t i = 0; i < layers; ++i) bytes.push_back(1000);
    for (int64_t i = 0; i < layers; ++i) bytes.insert(bytes.end(), {1000, 2000});
  }
  bytes.push_back(4);
  return bytes;
}

TEST(MicroStepsTest, ByWhatRepeatsInTheStep) {
  RankDigest digest = rank_of_lengths(0, std::vector<int64_t>(8, 10'000));
  add_collectives(digest, sharded_step(32, 4));
  std::vector<Diagnostic> diagnostics;
  EXPECT_EQ(align_steps(std::vector{digest}, {}, diagnostics)->info.micro_steps, 4);
}

TEST(MicroStepsTest, LayersAreNone) {
  RankDigest digest = rank_of_lengths(0, std::vector<int64_t>(8, 10'000));
  std::vector<int64_t> bytes;
  for (int layer = 0; layer < 24; ++layer) bytes.insert(bytes.end(), {100, 200, 300, 400});
  add_collectives(digest, bytes);
  std::vector<Diagnostic> diagnostics;
  EXPECT_FALSE(align_steps(std::vector{digest}, {}, diagnostics)->info.micro_steps);
}

}  // namespace
}  // namespace dprof::analyzer
