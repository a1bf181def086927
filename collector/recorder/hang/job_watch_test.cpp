// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/hang/job_watch.h"

#include <gmock/gmock.h>

#include "base/time.h"

namespace dprof::recorder {
namespace {

using schema::Function;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using News = JobWatch::News;

constexpr uint64_t kWorld = 0xAB, kPair = 0xCD;
constexpr int64_t kSecond = kNsPerSecond;

WatchedRank rank_of(int rank, int64_t progress_ns = kSecond) {
  WatchedRank watched{
      .rank = rank, .pid = 100 + rank, .own_pid = 0, .first_event_ticks = 0, .far = {}};
  watched.far.steps = 3;
  watched.far.median_step_ns = kSecond;
  watched.far.last_progress_ns = progress_ns;
  watched.far.called[{kWorld, Function::kUnknown}] = 0;
  watched.far.called[{kWorld, Function::kAllReduce}] = 7;
  return watched;
}

void waits_in(WatchedRank& rank, Function function, int64_t sequence, uint64_t group = kWorld,
              bool observed = true) {
  rank.far.open.push_back({group, "default_pg", function, sequence, sequence, kSecond, observed});
  rank.far.called[{group, Function::kUnknown}] = 0;
  rank.far.called[{group, function}] = sequence + 1;
}

TEST(JobHang, WhoHasNotComeIsTheSuspect) {
  std::vector<WatchedRank> ranks{rank_of(0), rank_of(1), rank_of(2)};
  waits_in(ranks[0], Function::kAllReduce, 7);
  waits_in(ranks[2], Function::kAllReduce, 7);
  const JobHang hang = hang_of(ranks);
  EXPECT_THAT(hang.suspects, ElementsAre(1));
  EXPECT_THAT(hang.waiting, ElementsAre(0, 2));
  EXPECT_EQ(words_of(hang),
            "rank 1 has not entered all_reduce #7 of default_pg, where ranks 0, 2 wait");
}

TEST(JobHang, WhoWaitsElsewhereIsAVictim) {
  std::vector<WatchedRank> ranks{rank_of(0), rank_of(1), rank_of(2)};
  waits_in(ranks[0], Function::kAllReduce, 7);
  waits_in(ranks[1], Function::kBroadcast, 0, kPair);
  ranks[2].far.called[{kPair, Function::kUnknown}] = 0;
  const JobHang hang = hang_of(ranks);
  EXPECT_THAT(hang.suspects, ElementsAre(2));
  EXPECT_THAT(hang.waiting, ElementsAre(0, 1));
}

TEST(JobHang, WhoIsNoMemberIsNoSuspect) {
  std::vector<WatchedRank> ranks{rank_of(0), rank_of(1), rank_of(2)};
  waits_in(ranks[0], Function::kBroadcast, 0, kPair);
  waits_in(ranks[1], Function::kBroadcast, 0, kPair);
  const JobHang hang = hang_of(ranks);
  EXPECT_THAT(hang.suspects, IsEmpty());
  EXPECT_THAT(hang.waiting, ElementsAre(0, 1));
  EXPECT_EQ(
      words_of(hang),
      "ranks 0, 1 wait in broadcast #0 of default_pg, which all ranks of this host have entered");
}

TEST(JobHang, ACallWhoseEndNobodySeesHoldsOnlyWhereSomebodyIsMissing) {
  std::vector<WatchedRank> ranks{rank_of(0), rank_of(1)};
  waits_in(ranks[0], Function::kAllReduce, 6, kWorld, false);
  waits_in(ranks[1], Function::kAllReduce, 6, kWorld, false);
  EXPECT_FALSE(hang_of(ranks).in);
  EXPECT_EQ(words_of(hang_of(ranks)), "no rank waits in a collective");
  waits_in(ranks[0], Function::kAllReduce, 7, kWorld, false);
  EXPECT_THAT(hang_of(ranks).suspects, ElementsAre(1));
}

TEST(JobHang, WhoIsInSuchACallHasComeWhateverItsCountSays) {
  std::vector<WatchedRank> ranks{rank_of(0), rank_of(1)};
  waits_in(ranks[0], Function::kAllReduce, 9);
  waits_in(ranks[1], Function::kAllReduce, 7);
  EXPECT_THAT(hang_of(ranks).suspects, IsEmpty());
}

class JobWatchTest : public ::testing::Test {
 protected:
  News look(int64_t second) { return watch_.look(second * kSecond, ranks_); }
  // Looks each second until then; returns the last result.
  News look_until(int64_t second) {
    News news = News::kNone;
    while (second_ < second && news == News::kNone) news = look(++second_);
    return news;
  }

  std::vector<WatchedRank> ranks_{rank_of(0), rank_of(1)};
  JobWatch watch_{5 * kSecond};
  int64_t second_ = 0;
};

TEST_F(JobWatchTest, SaysAHangOnceAndThatItGoesOn) {
  EXPECT_EQ(look_until(5), News::kNone);
  EXPECT_EQ(look_until(60), News::kHangs);
  EXPECT_EQ(second_, 6);
  EXPECT_EQ(watch_.hang().since_ns, kSecond);
  EXPECT_EQ(look_until(20), News::kNone);
  EXPECT_TRUE(watch_.hangs());
  ranks_[1].far.last_progress_ns = 21 * kSecond;
  EXPECT_EQ(look_until(21), News::kGoesOn);
  EXPECT_EQ(watch_.lasted_ns(), 20 * kSecond);
  EXPECT_EQ(look_until(25), News::kNone);
  EXPECT_EQ(look_until(60), News::kHangs);
}

TEST_F(JobWatchTest, OneRankThatGetsOnIsEnough) {
  for (int64_t second = 1; second < 60; ++second) {
    ranks_[0].far.last_progress_ns = second * kSecond;
    EXPECT_EQ(look(second), News::kNone);
  }
}

TEST_F(JobWatchTest, HasNoOpinionBeforeTheFirstStep) {
  for (WatchedRank& rank : ranks_) rank.far.steps = 0;
  EXPECT_EQ(look_until(100), News::kNone);
}

TEST_F(JobWatchTest, WhatIsNotRecordedSaysNothing) {
  ranks_[1].far.recording = false;
  EXPECT_EQ(look_until(100), News::kNone);
  ranks_[1].far.recording = true;
  EXPECT_EQ(look_until(104), News::kNone);
  EXPECT_EQ(look_until(106), News::kHangs);
}

TEST_F(JobWatchTest, BeginsAnewWhereItWasAwayItself) {
  EXPECT_EQ(look_until(3), News::kNone);
  second_ = 99;
  EXPECT_EQ(look_until(104), News::kNone);
  EXPECT_EQ(look_until(110), News::kHangs);
  EXPECT_EQ(second_, 105);
}

TEST_F(JobWatchTest, BeginsAnewWithOtherRanks) {
  EXPECT_EQ(look_until(60), News::kHangs);
  ranks_.pop_back();
  EXPECT_EQ(look_until(10), News::kNone);
  EXPECT_FALSE(watch_.hangs());
  EXPECT_EQ(look_until(60), News::kHangs);
  EXPECT_EQ(second_, 12);
}

TEST_F(JobWatchTest, OfItselfItWaitsForTwentyStepsAndAMinuteAtLeast) {
  watch_ = JobWatch(std::nullopt);
  EXPECT_EQ(look_until(60), News::kNone);
  EXPECT_EQ(look_until(1000), News::kHangs);
  EXPECT_EQ(second_, 61);
  watch_ = JobWatch(std::nullopt);
  ranks_[1].far.median_step_ns = 10 * kSecond;
  second_ = 0;
  EXPECT_EQ(look_until(1000), News::kHangs);
  EXPECT_EQ(second_, 201);
}

}  // namespace
}  // namespace dprof::recorder
