// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/detect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>

#include "analyzer/stragglers/stragglers.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr int64_t kDetectStep = 100'000'000;

// The job of docs/analysis/stragglers.md: ranks differ slightly all the time, steps differ more,
// with rare spikes.
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
      // Hiccups of a machine have all sizes.
      if (uniform(random) < job.spike_rate) length -= job.spike * std::log(1 - uniform(random));
      series.push_back(static_cast<int64_t>(length * static_cast<double>(kDetectStep)));
    }
    work.own_ns.push_back(std::move(series));
  }
  return work;
}

void delay(OwnWork& work, size_t rank, int64_t ns) {
  for (int64_t& own : work.own_ns[rank]) own += ns;
}

std::vector<Suspect> suspects_in(const OwnWork& work) {
  const Roles roles = same_roles(work.own_ns.size());
  return suspects_of(work, roles, excess_of(work, roles), kDetectStep);
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
    const std::vector<std::vector<int64_t>> excess = excess_of(work, same_roles(ranks)).total;
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
  EXPECT_EQ(excess_of({.steps = {0}, .own_ns = {{5}}}, same_roles(1)).total,
            (std::vector<std::vector<int64_t>>{{0}}));
}

TEST(DetectTest, HealthyJobsRaiseNoSuspectThatMatters) {
  int suspects = 0;
  for (const int ranks : {2, 3, 4, 8, 64}) {
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      for (const Suspect& s : suspects_in(work_of({.ranks = ranks}, seed))) {
        ++suspects;
        EXPECT_EQ(s.shape, Shape::kPersistent);
        EXPECT_LT(median_ns(s.excess_ns), kDetectStep * 3 / 100)
            << ranks << " ranks, seed " << seed;
      }
    }
  }
  EXPECT_LE(suspects, 3);  // static differences of three sigmas occur, and are no culprits
}

TEST(DetectTest, NoisyHealthyJobsRaiseNoSuspectAtAll) {
  for (const int ranks : {2, 3, 4, 8}) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      const Job job{.ranks = ranks, .steps = 58, .noise = 0.3, .spike_rate = 0.03, .spike = 2};
      for (const Suspect& s : suspects_in(work_of(job, seed)))
        ADD_FAILURE() << ranks << " ranks, seed " << seed << ": " << word_of(s.shape) << " in "
                      << s.when.size() << " steps, median " << median_ns(s.excess_ns);
    }
  }
}

TEST(DetectTest, FivePercentIsFoundAmongManyRanks) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    OwnWork work = work_of({.ranks = 64}, seed);
    delay(work, 17, kDetectStep / 20);
    const std::vector<Suspect> suspects = suspects_in(work);
    found += suspect_at(suspects, 17) != nullptr ? 1 : 0;
  }
  EXPECT_GE(found, 48);
}

TEST(DetectTest, TenPercentOfTwoRanksIsFound) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    OwnWork work = work_of({.ranks = 2, .steps = 58}, seed);
    delay(work, 1, kDetectStep / 10);
    const std::vector<Suspect> suspects = suspects_in(work);
    ASSERT_NE(suspect_at(suspects, 1), nullptr) << "seed " << seed;
    EXPECT_EQ(suspect_at(suspects, 0), nullptr);
  }
}

TEST(DetectTest, TwoSlowRanksDoNotHideEachOther) {
  OwnWork work = work_of({.ranks = 8}, 3);
  delay(work, 2, kDetectStep / 5);
  delay(work, 6, kDetectStep / 4);
  const std::vector<Suspect> suspects = suspects_in(work);
  EXPECT_NE(suspect_at(suspects, 2), nullptr);
  EXPECT_NE(suspect_at(suspects, 6), nullptr);
  EXPECT_EQ(suspects.size(), 2U);
}

TEST(DetectTest, TheThresholdsAreThoseOfTheReport) {
  for (const size_t ranks : {2, 3, 64}) EXPECT_EQ(least_named(ranks), straggler_floor(ranks));
}

TEST(DetectTest, FewStepsShowNoStructure) {
  OwnWork work = work_of({.ranks = 4, .steps = 4}, 1);
  delay(work, 0, kDetectStep);
  EXPECT_TRUE(suspects_in(work).empty());
}

TEST(DetectTest, ShapesOfSpikes) {
  const Job quiet{.ranks = 4, .steps = 100, .spike_rate = 0};
  OwnWork regular = work_of(quiet, 1);
  OwnWork rare = regular;
  OwnWork turning = regular;
  for (size_t s = 5; s < 100; s += 12) regular.own_ns[1][s] += kDetectStep;
  for (const size_t s : {3U, 17U, 24U, 60U, 91U}) rare.own_ns[1][s] += kDetectStep;
  for (size_t s = 0; s < 100; ++s) turning.own_ns[(s * 7 + s / 3) % 4][s] += kDetectStep / 2;
  const auto shape_of = [](const OwnWork& work) {
    const std::vector<Suspect> suspects = suspects_in(work);
    return suspects.size() == 1 ? word_of(suspects.front().shape) : "none";
  };
  EXPECT_EQ(shape_of(regular), "periodic");
  EXPECT_EQ(shape_of(rare), "transient");
  EXPECT_EQ(shape_of(turning), "rotating");
}

// The last rank of a quiet job has long steps of these sizes, in percent of a step.
OwnWork with_long_steps(int ranks, const std::vector<int64_t>& sizes) {
  OwnWork work = work_of({.ranks = ranks, .steps = 50, .spike_rate = 0}, 3);
  for (size_t i = 0; i < sizes.size(); ++i)
    work.own_ns.back()[5 + 11 * i] += sizes[i] * (kDetectStep / 100);
  return work;
}

TEST(DetectTest, FewLongStepsOfOneSizeAreOneRanksIfChanceHardlyPutsThemThere) {
  const std::vector<Suspect> of_eight = suspects_in(with_long_steps(8, {90, 92, 91}));
  ASSERT_EQ(of_eight.size(), 1U);
  EXPECT_EQ(of_eight.front().rank, 7U);
  EXPECT_EQ(of_eight.front().shape, Shape::kTransient);
  EXPECT_NEAR(of_eight.front().chance, 1.0 / 64, 1e-4);
  EXPECT_TRUE(suspects_in(with_long_steps(8, {90, 91})).empty()) << "two have no rate";
  EXPECT_TRUE(suspects_in(with_long_steps(8, {90, 60, 140})).empty()) << "sizes of hiccups";
  EXPECT_TRUE(suspects_in(with_long_steps(4, {90, 92, 91})).empty()) << "chance: 1 in 16";
  EXPECT_EQ(suspects_in(with_long_steps(4, {90, 92, 91, 92})).size(), 1U);
  EXPECT_TRUE(suspects_in(with_long_steps(2, {90, 92, 91, 92})).empty()) << "chance: 1 in 8";
  OwnWork two_have = with_long_steps(8, {90, 92, 91, 92});
  two_have.own_ns[5][30] += kDetectStep;
  EXPECT_TRUE(suspects_in(two_have).empty());
}

TEST(DetectTest, HiccupsOfAllSizesAreHardlyEverOfOneSizeAndOnOneRank) {
  for (const int ranks : {4, 8}) {
    size_t suspected = 0;
    for (uint64_t seed = 0; seed < 1000; ++seed) {
      const Job job{.ranks = ranks, .steps = 50, .spike_rate = 4.0 / (50 * ranks)};
      suspected += suspects_in(work_of(job, seed)).empty() ? 0 : 1;
    }
    EXPECT_LE(suspected, 3U) << ranks;
  }
}

TEST(DetectTest, OnsetIsWhereItBegan) {
  for (const size_t begin : {20U, 50U, 80U}) {
    OwnWork work = work_of({.ranks = 4, .spike_rate = 0}, begin);
    for (size_t s = begin; s < 100; ++s) work.own_ns[2][s] += kDetectStep / 5;
    const std::vector<Suspect> suspects = suspects_in(work);
    ASSERT_EQ(suspects.size(), 1U) << begin;
    EXPECT_EQ(suspects.front().shape, Shape::kPersistent);
    EXPECT_EQ(suspects.front().rank, 2U);
    ASSERT_TRUE(suspects.front().onset) << begin;
    EXPECT_NEAR(static_cast<double>(*suspects.front().onset), static_cast<double>(begin), 1);
  }
}

TEST(DetectTest, WhatLastsAllTheTimeHasNoOnset) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    OwnWork work = work_of({.ranks = 4}, seed);
    delay(work, 2, kDetectStep / 5);
    const std::vector<Suspect> suspects = suspects_in(work);
    ASSERT_EQ(suspects.size(), 1U) << seed;
    EXPECT_FALSE(suspects.front().onset) << seed;
  }
}

// They define each other's usual value: a delay that one of them has in each step is no spike.
TEST(DetectTest, FewRanksByTurnsAreRotating) {
  for (const size_t ranks : {2, 3, 4}) {
    OwnWork work = work_of({.ranks = static_cast<int>(ranks), .noise = 0.01, .spike_rate = 0}, 4);
    for (size_t s = 0; s < 100; ++s) work.own_ns[s % ranks][s] += kDetectStep / 8;
    const std::vector<Suspect> suspects = suspects_in(work);
    ASSERT_EQ(suspects.size(), 1U) << ranks;
    EXPECT_EQ(suspects.front().shape, Shape::kRotating) << ranks;
  }
}

TEST(DetectTest, TurnsOfSomeRanksAreNotThoseOfAll) {
  for (const size_t some : {2, 3}) {
    OwnWork work = work_of({.ranks = 8, .noise = 0.01, .spike_rate = 0}, 4);
    for (size_t s = 0; s < 100; s += 4) work.own_ns[s / 4 % some][s] += kDetectStep / 2;
    for (const Suspect& suspect : suspects_in(work))
      EXPECT_NE(suspect.shape, Shape::kRotating) << some << " of 8 ranks";
  }
}

// Of ten delays, each on any of 16 ranks, several ranks have two and many have none.
TEST(DetectTest, FewTurnsAreNeverDealtOutEvenly) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    OwnWork work = work_of({.ranks = 16, .noise = 0.01, .spike_rate = 0}, seed);
    std::mt19937_64 random(seed);
    for (size_t s = 5; s < 100; s += 10) work.own_ns[random() % 16][s] += 2 * kDetectStep;
    const std::vector<Suspect> suspects = suspects_in(work);
    ASSERT_EQ(suspects.size(), 1U) << seed;
    EXPECT_EQ(suspects.front().shape, Shape::kRotating) << seed;
  }
}

// Too small for spikes, but the last rank leads by about as much in each step, which by chance it
// does not.
TEST(DetectTest, SmallDelaysByTurnsAreRotating) {
  for (const size_t ranks : {3, 4, 8}) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      OwnWork work =
          work_of({.ranks = static_cast<int>(ranks), .noise = 0.002, .spike_rate = 0}, seed);
      std::mt19937_64 random(seed);
      for (size_t s = 0; s < 100; ++s) work.own_ns[random() % ranks][s] += kDetectStep * 45 / 1000;
      const std::vector<Suspect> suspects = suspects_in(work);
      ASSERT_EQ(suspects.size(), 1U) << ranks << " ranks, seed " << seed;
      EXPECT_EQ(suspects.front().shape, Shape::kRotating);
    }
  }
}

// Noise with heavy tails that goes on from step to step, on hosts that differ by two orders of
// magnitude: the last rank leads by more than 3 % in most steps, and by chance.
TEST(DetectTest, NoiseThatGoesOnIsNoTurns) {
  for (const size_t ranks : {2, 3, 4, 8, 16}) {
    for (const double memory : {0.0, 0.5, 0.9}) {
      for (uint64_t seed = 1; seed <= 200; ++seed) {
        std::mt19937_64 random(seed);
        std::student_t_distribution<double> heavy(3);
        std::uniform_real_distribution<double> uniform;
        OwnWork work = work_of({.ranks = static_cast<int>(ranks), .spike_rate = 0}, seed);
        const bool alike = seed % 2 == 0;
        for (Series& own : work.own_ns) {
          const double size = 0.1 * std::pow(10, alike ? 0 : -2 * uniform(random));
          double now = 0;
          for (int64_t& ns : own) {
            now = memory * now + std::sqrt(1 - memory * memory) * size * heavy(random);
            ns += static_cast<int64_t>(std::abs(now) * static_cast<double>(kDetectStep));
          }
        }
        for (const Suspect& s : suspects_in(work))
          EXPECT_NE(s.shape, Shape::kRotating)
              << ranks << " ranks, memory " << memory << ", seed " << seed;
      }
    }
  }
}

// More ranks than steps: not every rank has a turn, and by chance some have two.
TEST(DetectTest, ManyRanksByTurnsAreRotatingWhateverTheNoise) {
  for (const bool by_chance : {false, true}) {
    for (const double noise : {0.01, 0.02}) {
      OwnWork work = work_of({.ranks = 64, .steps = 48, .noise = noise, .spike_rate = 0}, 7);
      std::mt19937_64 random(11);
      for (size_t s = 0; s < 48; ++s)
        work.own_ns[by_chance ? random() % 64 : s][s] += kDetectStep * 14 / 100;
      const std::vector<Suspect> suspects = suspects_in(work);
      ASSERT_EQ(suspects.size(), 1U) << noise;
      EXPECT_EQ(suspects.front().shape, Shape::kRotating) << noise;
      EXPECT_GE(suspects.front().turns.size(), 40U) << noise;
    }
  }
}

TEST(DetectTest, PausesOfEachRankByItselfAreNoTurns) {
  OwnWork work = work_of({.ranks = 16, .noise = 0.01, .spike_rate = 0}, 3);
  std::mt19937_64 random(5);
  for (auto& series : work.own_ns) {
    for (int64_t& own : series) own += random() % 100 < 8 ? kDetectStep / 2 : 0;
  }
  const std::vector<Suspect> suspects = suspects_in(work);
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_EQ(suspects.front().shape, Shape::kRotating);
  EXPECT_FALSE(suspects.front().one_at_a_time);
  EXPECT_GT(suspects.front().turns.size(), suspects.front().when.size());
}

TEST(DetectTest, WhatLastsDoesNotHideTurns) {
  OwnWork work = work_of({.ranks = 8, .noise = 0.01, .spike_rate = 0}, 2);
  delay(work, 5, kDetectStep / 4);
  for (size_t s = 0; s < 100; ++s) {
    const size_t rank = s % 7;
    work.own_ns[rank < 5 ? rank : rank + 1][s] += kDetectStep / 3;
  }
  const std::vector<Suspect> suspects = suspects_in(work);
  ASSERT_EQ(suspects.size(), 2U);
  EXPECT_NE(suspect_at(suspects, 5), nullptr);
  EXPECT_EQ(suspects.back().shape, Shape::kRotating);
}

TEST(DetectTest, FewRanksThatFluctuateDoNotTakeTurns) {
  for (const int ranks : {2, 3, 4, 8, 64}) {
    for (uint64_t seed = 1; seed <= 20; ++seed)
      EXPECT_TRUE(suspects_in(work_of({.ranks = ranks, .noise = 0.15}, seed)).empty())
          << ranks << " ranks, seed " << seed;
  }
}

TEST(DetectTest, HiccupsOfManyRanksAreNobodys) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    OwnWork work = work_of({.ranks = 64, .noise = 0.01, .spike_rate = 0}, seed);
    std::mt19937_64 random(seed);
    for (auto& series : work.own_ns) {
      for (int64_t& own : series) own += random() % 100 == 0 ? kDetectStep / 2 : 0;
    }
    EXPECT_TRUE(suspects_in(work).empty()) << seed;
  }
}

// All of it forward, but for a fifth that is input.
OwnWork of_kinds(OwnWork work) {
  for (const auto& series : work.own_ns) {
    std::vector<KindNs> kinds;
    for (const int64_t own : series) {
      KindNs one{};
      one[index_of(OwnKind::kInput)] = own / 5;
      one[index_of(OwnKind::kForward)] = own - own / 5;
      kinds.push_back(one);
    }
    work.kind_ns.push_back(std::move(kinds));
  }
  return work;
}

// Moves `ns` of each step of a rank from one kind to another; from none, it is longer.
void shift(OwnWork& work, size_t rank, std::optional<OwnKind> from, OwnKind to, int64_t ns) {
  for (size_t s = 0; s < work.steps.size(); ++s) {
    if (from)
      work.kind_ns[rank][s][index_of(*from)] -= ns;
    else
      work.own_ns[rank][s] += ns;
    work.kind_ns[rank][s][index_of(to)] += ns;
  }
}

TEST(DetectTest, MostRanksSlowEachInAnotherWayAreAllFound) {
  constexpr int64_t kMuch = kDetectStep * 3 / 10;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    OwnWork work = of_kinds(work_of({.ranks = 4, .spike_rate = 0}, seed));
    shift(work, 0, {}, OwnKind::kInput, kMuch);
    shift(work, 1, {}, OwnKind::kForwardHost, kMuch);
    shift(work, 3, {}, OwnKind::kForward, kMuch);
    const std::vector<Suspect> suspects = suspects_in(work);
    for (const size_t rank : {0, 1, 3}) {
      const Suspect* found = suspect_at(suspects, rank);
      ASSERT_NE(found, nullptr) << "rank " << rank << ", seed " << seed;
      EXPECT_TRUE(found->beyond_rest);
      EXPECT_NEAR(static_cast<double>(median_ns(found->excess_ns)), kMuch, kMuch / 10.0);
    }
    EXPECT_EQ(suspect_at(suspects, 2), nullptr) << seed;
  }
}

// What one rank's records call input, another's call forward: none of them is longer.
TEST(DetectTest, WorkOfOtherKindsButEqualLengthIsNoDelay) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    OwnWork work = of_kinds(work_of({.ranks = 4, .spike_rate = 0}, seed));
    shift(work, 0, OwnKind::kForward, OwnKind::kInput, kDetectStep * 3 / 10);
    shift(work, 1, OwnKind::kForward, OwnKind::kForwardHost, kDetectStep * 3 / 10);
    shift(work, 3, OwnKind::kForward, OwnKind::kUnattributed, kDetectStep * 3 / 10);
    EXPECT_TRUE(suspects_in(work).empty()) << seed;
  }
}

// The floor is the delay that is found with probability 0.95.
TEST(DetectTest, FloorIsFoundAsOftenAsItSays) {
  for (const int ranks : {3, 8, 64}) {
    int seen = 0;
    constexpr int kTrials = 100;
    for (uint64_t seed = 1; seed <= kTrials; ++seed) {
      OwnWork work = work_of({.ranks = ranks, .spike_rate = 0}, seed);
      const Roles roles = same_roles(work.own_ns.size());
      const Scale scale = scale_of(work, roles, excess_of(work, roles), kDetectStep);
      delay(work, 1, static_cast<int64_t>(scale.floor_ns));
      seen += suspect_at(suspects_in(work), 1) != nullptr ? 1 : 0;
    }
    EXPECT_GE(seen, 90) << ranks << " ranks";
  }
}

}  // namespace
}  // namespace dprof::analyzer
