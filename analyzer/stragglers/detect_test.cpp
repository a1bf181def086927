// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/detect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "analyzer/stragglers/cause.h"
#include "analyzer/stragglers/counterfactual.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr int64_t kStep = 100'000'000;

// The job of analysis.md 6.2: ranks differ by a little all the time, steps by more, with rare
// spikes.
struct Job {
  int ranks = 8;
  size_t steps = 100;
  double static_spread = 0.005;
  double noise = 0.02;
  double spike_rate = 0.01;
  double spike = 0.3;
};

OwnWork work_of(const Job& job, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  OwnWork work;
  for (size_t s = 0; s < job.steps; ++s) work.steps.push_back(s);
  for (int r = 0; r < job.ranks; ++r) {
    const double own = 1 + job.static_spread * normal(random);
    std::vector<int64_t> series;
    for (size_t s = 0; s < job.steps; ++s) {
      double length = own * (1 + job.noise * normal(random));
      // Hiccups of a machine are of all sizes.
      if (uniform(random) < job.spike_rate) length -= job.spike * std::log(1 - uniform(random));
      series.push_back(static_cast<int64_t>(length * static_cast<double>(kStep)));
    }
    work.own_ns.push_back(std::move(series));
  }
  return work;
}

void delay(OwnWork& work, size_t rank, int64_t ns) {
  for (int64_t& own : work.own_ns[rank]) own += ns;
}

const Suspect* suspect_at(const std::vector<Suspect>& suspects, size_t rank) {
  for (const Suspect& suspect : suspects) {
    if (suspect.rank == rank) return &suspect;
  }
  return nullptr;
}

TEST(ExcessTest, IsTheDistanceFromTheMedianOfTheOthers) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    OwnWork work;
    const size_t ranks = 2 + random() % 9;
    const int64_t spread = round % 2 == 0 ? 5 : 1'000'000;  // few values: many are equal
    for (size_t s = 0; s < 3; ++s) work.steps.push_back(s);
    for (size_t r = 0; r < ranks; ++r) {
      work.own_ns.emplace_back();
      for (size_t s = 0; s < 3; ++s) {
        work.own_ns.back().push_back(static_cast<int64_t>(random() % 2'000'000) % spread - 3);
      }
    }
    const std::vector<std::vector<int64_t>> excess = excess_of(work);
    for (size_t r = 0; r < ranks; ++r) {
      for (size_t s = 0; s < 3; ++s) {
        std::vector<int64_t> others;
        for (size_t o = 0; o < ranks; ++o) {
          if (o != r) others.push_back(work.own_ns[o][s]);
        }
        ASSERT_EQ(excess[r][s], work.own_ns[r][s] - median_ns(others)) << "of " << ranks;
      }
    }
  }
}

TEST(ExcessTest, OneRankHasNone) {
  EXPECT_EQ(excess_of({.steps = {0}, .own_ns = {{5}}}), (std::vector<std::vector<int64_t>>{{0}}));
}

TEST(DetectTest, HealthyJobsRaiseNoSuspectThatMatters) {
  int suspects = 0;
  for (const int ranks : {2, 3, 4, 8, 64}) {
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      for (const Suspect& s : suspects_of(work_of({.ranks = ranks}, seed), kStep)) {
        ++suspects;
        EXPECT_EQ(s.shape, Shape::kPersistent);
        EXPECT_LT(median_ns(s.excess_ns), kStep * 3 / 100) << ranks << " ranks, seed " << seed;
      }
    }
  }
  EXPECT_LE(suspects, 3);  // a static difference of three sigmas is there, and is no culprit
}

TEST(DetectTest, NoisyHealthyJobsRaiseNoSuspectAtAll) {
  for (const int ranks : {2, 3, 4, 8}) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      const Job job{.ranks = ranks, .steps = 58, .noise = 0.3, .spike_rate = 0.03, .spike = 2};
      for (const Suspect& s : suspects_of(work_of(job, seed), kStep))
        ADD_FAILURE() << ranks << " ranks, seed " << seed << ": " << word_of(s.shape) << " in "
                      << s.when.size() << " steps, median " << median_ns(s.excess_ns);
    }
  }
}

TEST(DetectTest, FivePercentIsFoundAmongManyRanks) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    OwnWork work = work_of({.ranks = 64}, seed);
    delay(work, 17, kStep / 20);
    const std::vector<Suspect> suspects = suspects_of(work, kStep);
    found += suspect_at(suspects, 17) != nullptr ? 1 : 0;
  }
  EXPECT_GE(found, 48);
}

TEST(DetectTest, TenPercentOfTwoRanksIsFound) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    OwnWork work = work_of({.ranks = 2, .steps = 58}, seed);
    delay(work, 1, kStep / 10);
    const std::vector<Suspect> suspects = suspects_of(work, kStep);
    ASSERT_NE(suspect_at(suspects, 1), nullptr) << "seed " << seed;
    EXPECT_EQ(suspect_at(suspects, 0), nullptr);
  }
}

TEST(DetectTest, TwoSlowRanksDoNotHideEachOther) {
  OwnWork work = work_of({.ranks = 8}, 3);
  delay(work, 2, kStep / 5);
  delay(work, 6, kStep / 4);
  const std::vector<Suspect> suspects = suspects_of(work, kStep);
  EXPECT_NE(suspect_at(suspects, 2), nullptr);
  EXPECT_NE(suspect_at(suspects, 6), nullptr);
  EXPECT_EQ(suspects.size(), 2U);
}

TEST(DetectTest, FewStepsShowNoStructure) {
  OwnWork work = work_of({.ranks = 4, .steps = 4}, 1);
  delay(work, 0, kStep);
  EXPECT_TRUE(suspects_of(work, kStep).empty());
}

TEST(DetectTest, ShapesOfSpikes) {
  const Job quiet{.ranks = 4, .steps = 100, .spike_rate = 0};
  OwnWork regular = work_of(quiet, 1);
  OwnWork rare = regular;
  OwnWork turning = regular;
  for (size_t s = 5; s < 100; s += 12) regular.own_ns[1][s] += kStep;
  for (const size_t s : {3U, 17U, 24U, 60U, 91U}) rare.own_ns[1][s] += kStep;
  for (size_t s = 0; s < 100; ++s) turning.own_ns[(s * 7 + s / 3) % 4][s] += kStep / 2;
  const auto shape_of = [](const OwnWork& work) {
    const std::vector<Suspect> suspects = suspects_of(work, kStep);
    return suspects.size() == 1 ? word_of(suspects.front().shape) : "none";
  };
  EXPECT_EQ(shape_of(regular), "periodic");
  EXPECT_EQ(shape_of(rare), "transient");
  EXPECT_EQ(shape_of(turning), "rotating");
}

// --- cost ---

Meeting meeting(size_t step, std::vector<Segment> segments, int64_t transfer, bool stops = true) {
  Meeting m;
  m.step = step;
  m.segments = std::move(segments);
  m.transfer_ns = transfer;
  m.stops = stops;
  return m;
}

TEST(ReplayTest, StepEndsATransferAfterTheLast) {
  const std::vector<Meeting> meetings = {meeting(0, {{0, 100}, {0, 130}}, 10),
                                         meeting(1, {{0, 100}, {0, 90}}, 10)};
  EXPECT_EQ(replay(meetings, {}), (std::vector<int64_t>{140, 110}));
  EXPECT_EQ(replay(meetings, {.rank = 1}), (std::vector<int64_t>{110, 110}));
  EXPECT_EQ(replay(meetings, {.rank = 0}), (std::vector<int64_t>{140, 100}));
}

TEST(ReplayTest, MeetingBesideComputationStopsNobody) {
  // Rank 1 is late for the first bucket, and catches up before the second.
  const std::vector<Meeting> meetings = {meeting(0, {{0, 50}, {0, 90}}, 20, false),
                                         meeting(0, {{0, 80}, {0, 40}}, 20)};
  EXPECT_EQ(replay(meetings, {}), (std::vector<int64_t>{150}));
  EXPECT_EQ(replay(meetings, {.rank = 1}), (std::vector<int64_t>{150}));
}

TEST(ReplayTest, GainOfTheVictimIsNothing) {
  std::vector<Meeting> meetings;
  for (size_t s = 0; s < 20; ++s) meetings.push_back(meeting(s, {{0, 100}, {0, 150}, {0, 101}}, 5));
  const std::vector<int64_t> recorded = replay(meetings, {});
  EXPECT_EQ(gain_of(meetings, recorded, {.rank = 0}), std::vector<int64_t>(20, 0));
  EXPECT_EQ(gain_of(meetings, recorded, {.rank = 1}), std::vector<int64_t>(20, 49));
}

// --- cause ---

OwnWork sums_of(const std::vector<Sums>& per_rank) {
  OwnWork work;
  for (size_t s = 0; s < 10; ++s) work.steps.push_back(s);
  for (const Sums& sums : per_rank) {
    work.sums.emplace_back(10, sums);
    work.own_ns.emplace_back(10, sums.total());
  }
  return work;
}

Sums sums(int64_t input, int64_t forward, int64_t backward, int64_t unattributed) {
  Sums s;
  s.category_ns[static_cast<size_t>(Category::kInputWait)] = input;
  s.category_ns[static_cast<size_t>(Category::kForward)] = forward;
  s.category_ns[static_cast<size_t>(Category::kBackward)] = backward;
  s.category_ns[static_cast<size_t>(Category::kHost)] = unattributed;
  s.host_ns[static_cast<size_t>(HostDetail::kUnattributed)] = unattributed;
  return s;
}

struct CauseCase {
  const char* name;
  Sums culprit;
  const char* word;
  const char* kind;
  bool uniform;
};

class CauseTest : public ::testing::TestWithParam<CauseCase> {};

TEST_P(CauseTest, DominantKindGivesTheCause) {
  const Sums peer = sums(10, 100, 200, 20);
  const Cause cause = cause_of(sums_of({peer, GetParam().culprit, peer}), 1,
                               {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, Over::kTypical);
  EXPECT_EQ(cause.word, GetParam().word);
  EXPECT_EQ(cause.kind, GetParam().kind);
  EXPECT_EQ(cause.uniform, GetParam().uniform);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, CauseTest,
    ::testing::Values(CauseCase{"loader", sums(90, 100, 200, 20), "dataloader", "input wait",
                                false},
                      CauseCase{"forward", sums(10, 180, 200, 20), "compute", "forward", false},
                      CauseCase{"backward", sums(10, 100, 260, 20), "compute", "backward", false},
                      CauseCase{"slow_core", sums(10, 150, 300, 20), "compute", "backward", true},
                      CauseCase{"host", sums(10, 100, 200, 99), "host",
                                "host time outside of every range", false},
                      CauseCase{"several", sums(60, 150, 200, 70), "mixed", "", false},
                      CauseCase{"nothing", sums(10, 100, 200, 20), "unknown", "", false}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(CauseTest, ComputationBesideACollectiveCountsToItsPhase) {
  const Sums peer = sums(10, 100, 200, 20);
  Sums slow = peer;
  slow.category_ns[static_cast<size_t>(Category::kOverlapped)] = 70;
  slow.overlapped_ns[static_cast<size_t>(Category::kBackward)] = 70;
  const Cause cause = cause_of(sums_of({peer, slow}), 1, {0, 1, 2}, Over::kAll);
  EXPECT_EQ(cause.word, "compute");
  EXPECT_EQ(cause.kind, "backward");
  EXPECT_EQ(cause.own_ns, 270);
}

}  // namespace
}  // namespace dprof::analyzer
