// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/replayer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "analyzer/match/test_support/test_run.h"
#include "analyzer/replay/replay.h"
#include "analyzer/replay/step_lengths.h"
#include "analyzer/stragglers/price.h"
#include "analyzer/stragglers/result.h"
#include "analyzer/waits/test_support/matched.h"

namespace dprof::analyzer {
namespace {

constexpr int64_t kMs = 1'000'000;

// A job played by hand: ranks work, and meet in groups. It leaves what a recording would, and knows
// what really happens when a rank works less.
class Job {
 public:
  explicit Job(int ranks) : run_(ranks), now_(static_cast<size_t>(ranks), 0) {
    pieces_.resize(static_cast<size_t>(ranks));
    begins_.resize(static_cast<size_t>(ranks));
  }

  size_t group(const std::vector<int>& members) {
    groups_.push_back(members);
    return run_.group(members);
  }

  void work(int rank, int64_t ns) { pass(rank, ns, Category::kForward); }
  void everybody_works(int64_t ns) {
    for (int r = 0; r < ranks(); ++r) work(r, ns);
  }

  void meet(size_t group, int64_t transfer_ns) {
    int64_t all = 0;
    for (const int rank : groups_[group]) all = std::max(all, now(rank));
    for (const int rank : groups_[group]) {
      CollectiveRecord& record = run_.call(rank, group, {});
      record.enqueue = record.start = TraceNs{now(rank)};
      record.end = TraceNs{all + transfer_ns};
      pass(rank, all - now(rank), Category::kExposedWait);
      pass(rank, transfer_ns, Category::kExposedTransfer);
    }
  }

  void message(size_t group, int from, int to, int64_t transfer_ns) {
    const int64_t both = std::max(now(from), now(to));
    for (const int rank : {from, to}) {
      const std::vector<int>& members = groups_[group];
      const auto number = std::ranges::find(members, rank == from ? to : from) - members.begin();
      CollectiveRecord& record = run_.message(rank, group, rank == from, static_cast<int>(number));
      record.enqueue = record.start = TraceNs{now(rank)};
      record.end = TraceNs{both + transfer_ns};
      pass(rank, both - now(rank), Category::kExposedWait);
      pass(rank, transfer_ns, Category::kExposedTransfer);
    }
  }

  // Waits that nothing recorded explains.
  void stand_still(int rank, int64_t ns) { pass(rank, ns, Category::kDependency); }

  void step_begins() {
    for (int r = 0; r < ranks(); ++r) begins_[static_cast<size_t>(r)].push_back(now(r));
  }

  // Everything from the third step on is steady.
  std::unique_ptr<Replayer> replayer() {
    step_begins();
    for (size_t r = 0; r < begins_.size(); ++r) {
      RankDigest& digest = run_.digests[r];
      digest.span = {{0}, {now_[r]}};
      for (size_t s = 0; s + 1 < begins_[r].size(); ++s)
        digest.steps.push_back({static_cast<int64_t>(s), {{begins_[r][s]}, {begins_[r][s + 1]}}});
    }
    std::vector<Diagnostic> notes;
    steps_ = align_steps(run_.digests, {}, notes);
    const Matching matching = matched(run_.digests, true);
    std::vector<std::span<const LatticePiece>> pieces;
    for (const auto& of_rank : pieces_) pieces.emplace_back(of_rank);
    return Replayer::make(run_.digests, *steps_, matching, pieces);
  }

  // Mean length of the steady steps, by the rank that is last.
  [[nodiscard]] double mean_step() const {
    const auto last_at = [&](size_t s) {
      int64_t last = 0;
      for (const auto& of_rank : begins_) last = std::max(last, of_rank[s]);
      return last;
    };
    const size_t first = steps_->first_steady;
    const size_t end = steps_->last_steady + 1;
    return static_cast<double>(last_at(end) - last_at(first)) / static_cast<double>(end - first);
  }

 private:
  [[nodiscard]] int ranks() const { return static_cast<int>(now_.size()); }
  [[nodiscard]] int64_t now(int rank) const { return now_[static_cast<size_t>(rank)]; }

  void pass(int rank, int64_t ns, Category category) {
    if (ns <= 0) return;
    const auto r = static_cast<size_t>(rank);
    pieces_[r].push_back({{{now_[r]}, {now_[r] + ns}}, category, category});
    now_[r] += ns;
  }

  TestRun run_;
  std::vector<std::vector<int>> groups_;
  std::vector<int64_t> now_;
  std::vector<std::vector<LatticePiece>> pieces_;
  std::vector<std::vector<int64_t>> begins_;  // of steps, by rank
  std::optional<Steps> steps_;
};

constexpr size_t kSteps = 12;

double mean_gain(const Replayer& replayer, const Replacement& replacement) {
  return mean_of(replayer.gain_of(replacement));
}

// The gain that is promised without the delay, and the one that comes true.
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
    // Groups first, so that both have the same.
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
    job.work(2, 4 * kMs);  // another one is a little late, too: not all of the delay is won
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

// Only pairs meet before all do: what rank 1 is late by, rank 0 waits for, and all others later.
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

// Nobody ever meets all others.
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

// What stands still without a cause is kept, told of, and no gain.
TEST(ReplayerTest, UnexplainedWaitingIsTold) {
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

TEST(ReplayerTest, NobodyMeetsNothingIsReplayed) {
  Job job(2);
  job.group({0, 1});
  for (size_t s = 0; s < kSteps; ++s) {
    job.step_begins();
    job.everybody_works(16 * kMs);
  }
  EXPECT_EQ(job.replayer(), nullptr);
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

}  // namespace
}  // namespace dprof::analyzer
