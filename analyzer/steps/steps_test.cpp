// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace dprof::analyzer
