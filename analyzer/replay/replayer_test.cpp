// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/replayer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "analyzer/replay/replay.h"
#include "analyzer/replay/step_lengths.h"
#include "analyzer/replay/test_support/job.h"
#include "analyzer/stragglers/price.h"
#include "analyzer/stragglers/result.h"

namespace dprof::analyzer {
namespace {

constexpr int64_t kMs = 1'000'000;

constexpr size_t kSteps = 12;

double mean_gain(const Replayer& replayer, const Replacement& replacement) {
  return mean_of(replayer.gain_of(replacement));
}

// The predicted gain without the delay, and the real one.
struct Outcome {
  double promised = 0;
  double true_gain = 0;
  Replay quality;
};
Outcome outcome(int ranks, size_t slow, const std::function<void(Job&, int64_t)>& step) {
  Job with(ranks);
  Job without(ranks);
  for (Job* job : {&with, &without}) {
    const int64_t delay = job == &with ? 7 * kMs : 0;
    // Groups first, so that both runs have the same.
    std::vector<int> all;
    for (int r = 0; r < ranks; ++r) all.push_back(r);
    job->group(all);
    if (ranks == 4) {
      job->group({0, 1});
      job->group({2, 3});
    }
    for (size_t s = 0; s < kSteps; ++s) {
      job->step_begins();
      step(*job, delay);
    }
  }
  const auto replayer = with.replayer();
  const auto other = without.replayer();
  Outcome result;
  result.promised = mean_gain(*replayer, {.rank = slow});
  result.true_gain = with.mean_step() - without.mean_step();
  result.quality = replayer->quality();
  return result;
}

TEST(ReplayerTest, ADelayOfOneRankCostsWhatTheRunWithoutItGains) {
  const Outcome o = outcome(3, 1, [](Job& job, int64_t delay) {
    job.everybody_works(20 * kMs);
    job.work(2, 4 * kMs);  // another one is a little late, too: not all of the delay is gained
    job.work(1, delay);
    job.meet(0, 3 * kMs);
    job.everybody_works(5 * kMs);
  });
  EXPECT_DOUBLE_EQ(o.quality.identity_error, 0);
  EXPECT_DOUBLE_EQ(o.quality.unexplained, 0);
  EXPECT_NEAR(o.true_gain, 3 * kMs, 1);
  EXPECT_NEAR(o.promised, o.true_gain, 1);
}

TEST(ReplayerTest, ADelayBehindTheLastMeetingCountsInTheNextStep) {
  const Outcome o = outcome(3, 0, [](Job& job, int64_t delay) {
    job.everybody_works(20 * kMs);
    job.meet(0, 3 * kMs);
    job.work(0, delay);
    job.everybody_works(5 * kMs);
  });
  EXPECT_DOUBLE_EQ(o.quality.identity_error, 0);
  EXPECT_NEAR(o.promised, o.true_gain, 0.01 * o.true_gain);
}

// Only pairs meet before all do: rank 0 waits for rank 1's delay, and later all the others.
TEST(ReplayerTest, GroupsThatAreNotTheWholeJob) {
  const Outcome o = outcome(4, 1, [](Job& job, int64_t delay) {
    for (int layer = 0; layer < 3; ++layer) {
      job.everybody_works(6 * kMs);
      if (layer == 1) job.work(1, delay);
      job.meet(1, kMs);
      job.meet(2, kMs);
    }
    job.meet(0, 3 * kMs);
    job.everybody_works(5 * kMs);
  });
  EXPECT_DOUBLE_EQ(o.quality.identity_error, 0);
  EXPECT_NEAR(o.true_gain, 7 * kMs, 1);
  EXPECT_NEAR(o.promised, o.true_gain, 1);
}

// No rank ever meets all others.
TEST(ReplayerTest, OnlySubsetsMeet) {
  const Outcome o = outcome(4, 3, [](Job& job, int64_t delay) {
    job.everybody_works(10 * kMs);
    job.work(3, delay);
    job.meet(1, kMs);
    job.meet(2, kMs);
    job.everybody_works(2 * kMs);
  });
  EXPECT_DOUBLE_EQ(o.quality.identity_error, 0);
  EXPECT_NEAR(o.promised, o.true_gain, 1);
}

// Two pipelines of two stages; the late first stage of one makes its second stage wait.
TEST(ReplayerTest, Messages) {
  const Outcome o = outcome(4, 0, [](Job& job, int64_t delay) {
    for (int first : {0, 2}) {
      job.work(first, 10 * kMs);
      if (first == 0) job.work(0, delay);
      job.message(first == 0 ? 1 : 2, first, first + 1, kMs);
      job.work(first + 1, 10 * kMs);
      job.message(first == 0 ? 1 : 2, first + 1, first, kMs);
    }
    job.meet(0, 3 * kMs);
  });
  EXPECT_DOUBLE_EQ(o.quality.identity_error, 0);
  EXPECT_NEAR(o.true_gain, 7 * kMs, 1);
  EXPECT_NEAR(o.promised, o.true_gain, 1);
}

TEST(ReplayerTest, PeersCanBeChosenAndASegmentWithoutAnyStays) {
  Job job(3);
  job.group({0, 1, 2});
  for (size_t s = 0; s < kSteps; ++s) {
    job.step_begins();
    job.work(0, 10 * kMs);
    job.work(1, 20 * kMs);
    job.work(2, 40 * kMs);
    job.meet(0, kMs);
  }
  const auto replayer = job.replayer();
  EXPECT_NEAR(mean_gain(*replayer, {.rank = 2}), 20 * kMs, 1);  // rank 1 is the last one then
  EXPECT_NEAR(mean_gain(*replayer, {.rank = 2, .peers = {0}}), 20 * kMs, 1);
  EXPECT_NEAR(mean_gain(*replayer, {.rank = 2, .peers = {2}}), 0, 1);
  EXPECT_NEAR(mean_gain(*replayer, {.all = true}), 20 * kMs, 1);
}

// Otherwise its wait is a lag in these steps, which nothing shortens.
TEST(ReplayerTest, AnEndThatIsNotedLateIsStillWhatTheRankWaitedFor) {
  int step = 0;
  const Outcome o = outcome(3, 1, [&](Job& job, int64_t delay) {
    job.everybody_works(20 * kMs);
    job.work(1, delay);
    job.meet(0, kMs, {.rank = 2, .ns = ++step % 6 < 2 ? 4 * kMs : 0});
    job.everybody_works(5 * kMs);
  });
  EXPECT_NEAR(o.quality.identity_error, 0, 1e-3);
  EXPECT_NEAR(o.quality.unexplained, 0, 1e-3);
  EXPECT_NEAR(o.true_gain, 7 * kMs, 1);
  EXPECT_NEAR(o.promised, o.true_gain, 1);
}

// A pause without a cause is kept and reported, and yields no gain.
TEST(ReplayerTest, UnexplainedWaitingIsReported) {
  Job job(2);
  job.group({0, 1});
  for (size_t s = 0; s < kSteps; ++s) {
    job.step_begins();
    job.everybody_works(16 * kMs);
    job.stand_still(1, 3 * kMs);
    job.meet(0, kMs);
  }
  const auto replayer = job.replayer();
  const Replay quality = replayer->quality();
  EXPECT_DOUBLE_EQ(quality.identity_error, 0);
  EXPECT_NEAR(quality.unexplained, 3.0 / 20, 0.001);
  EXPECT_NEAR(mean_gain(*replayer, {.rank = 1}), 0, 1);
}

TEST(ReplayerTest, WhereNobodyMeetsEachRankIsPlayedByItself) {
  Job job(2);
  job.group({0, 1});
  for (size_t s = 0; s < kSteps; ++s) {
    job.step_begins();
    job.everybody_works(16 * kMs);
    job.work(1, 2 * kMs);
  }
  const auto replayer = job.replayer();
  ASSERT_NE(replayer, nullptr);
  EXPECT_DOUBLE_EQ(replayer->quality().identity_error, 0);
  EXPECT_NEAR(mean_gain(*replayer, {.rank = 0}), 0, 1);
  EXPECT_NEAR(mean_gain(*replayer, {.rank = 1}), 2 * kMs, 1);
}

// A run with that many calls takes too much memory: only its last steps are replayed.
TEST(LastStepsTest, AsManyAsHaveSoFewCalls) {
  std::vector<RankDigest> digests(2);
  for (RankDigest& digest : digests) {
    digest.steps.resize(32);
    digest.collectives = std::vector<CollectiveRecord>(32 * 5);
  }
  Steps steps{.ranks = {0, 1}, .steps = std::vector<AlignedStep>(32)};
  steps.first_steady = 2;
  steps.last_steady = 31;
  EXPECT_FALSE(last_steps(digests, steps, 300));
  const std::optional<Steps> some = last_steps(digests, steps, 120);
  ASSERT_TRUE(some);
  EXPECT_EQ(some->steady().size(), 12U);
  EXPECT_EQ(some->last_steady, 31U);
  EXPECT_EQ(last_steps(digests, steps, 1)->steady().size(), kFewestReplayedSteps);
}

TEST(ReplayQualityTest, CostsGetTheErrorOfTheReplay) {
  Verdict verdict;
  verdict.straggler.bound_ns = 100;
  verdict.straggler.confidence = 0.8;
  std::vector<Verdict> verdicts = {verdict};
  Replay replay;
  replay.accepted = true;
  replay.identity_error = 0.01;
  widen_costs(replay, 10'000, verdicts);
  EXPECT_EQ(verdicts[0].straggler.bound_ns, 200);
  EXPECT_DOUBLE_EQ(verdicts[0].straggler.confidence, 0.8);
  replay.accepted = false;
  replay.identity_error = 0.06;
  widen_costs(replay, 10'000, verdicts);
  EXPECT_EQ(verdicts[0].straggler.bound_ns, 800);
  EXPECT_DOUBLE_EQ(verdicts[0].straggler.confidence, 0.4);
}

// Two pairs on the same two hosts: if one begins later, both finish sooner with it.
double gain_where_pairs_share_a_link(std::vector<std::string> hosts) {
  constexpr int64_t kAlone = 10 * kMs;
  Job job(4);
  const size_t all = job.group({0, 1, 2, 3});
  const size_t first = job.group({0, 2});
  const size_t second = job.group({1, 3});
  job.on_hosts(std::move(hosts));
  for (size_t s = 0; s < kSteps; ++s) {
    job.step_begins();
    const int64_t late = static_cast<int64_t>(2 + 2 * (s % 4)) * kMs;
    job.everybody_works(30 * kMs);
    job.work(0, late);
    job.meet(first, 2 * kAlone - late);
    job.meet(second, 2 * kAlone - late);
    job.meet(all, kMs);
  }
  return mean_gain(*job.replayer(), {.rank = 0});
}

TEST(ReplayerTest, TransfersThatWouldMeetOnALinkGainNothing) {
  EXPECT_NEAR(gain_where_pairs_share_a_link({"a", "a", "b", "b"}), 0, 0.1 * kMs);
  // The hosts are unknown, or different.
  EXPECT_GT(gain_where_pairs_share_a_link({}), 3 * kMs);
  EXPECT_GT(gain_where_pairs_share_a_link({"a", "b", "c", "d"}), 3 * kMs);
}

}  // namespace
}  // namespace dprof::analyzer
