// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;

constexpr size_t kRoleSteps = 5;

// A pipeline; in each step a rank computes for 50 ms, and reads and copies for these times (ms).
struct Pipeline {
  OwnWork work;
  Roles roles;

  struct Rank {
    const char* stage;
    int64_t input;
    int64_t copy;
  };
  explicit Pipeline(const std::vector<Rank>& ranks) {
    roles.sets.emplace_back(ranks.size());
    std::iota(roles.sets[0].begin(), roles.sets[0].end(), size_t{0});
    for (const Rank& rank : ranks) {
      KindNs kinds{};
      kinds[index_of(OwnKind::kForward)] = 50'000'000;
      kinds[index_of(OwnKind::kInput)] = rank.input * 1'000'000;
      kinds[index_of(OwnKind::kCopy)] = rank.copy * 1'000'000;
      work.kind_ns.emplace_back(kRoleSteps, kinds);
      work.own_ns.emplace_back(kRoleSteps, std::accumulate(kinds.begin(), kinds.end(), int64_t{0}));
      roles.of.push_back({.name = rank.stage, .is_stage = true});
      roles.set_of.emplace_back(0);
    }
  }

  // Own work per step in ms, without the reading that belongs to the roles.
  std::vector<int64_t> left() {
    leave_out_reading(roles, work);
    std::vector<int64_t> ms;
    for (size_t r = 0; r < work.own_ns.size(); ++r) {
      const KindNs& kinds = work.kind_ns[r].front();
      EXPECT_EQ(std::accumulate(kinds.begin(), kinds.end(), int64_t{0}), work.own_ns[r].front());
      ms.push_back(work.own_ns[r].front() / 1'000'000);
    }
    return ms;
  }
};

TEST(LeaveOutReadingTest, WhatAStageReadsForAllIsItsRole) {
  EXPECT_THAT(Pipeline({{"1", 3, 2}, {"1", 3, 2}, {"2", 0, 0}, {"2", 0, 0}}).left(),
              ElementsAre(50, 50, 50, 50));
}

TEST(LeaveOutReadingTest, ReadingForLongerThanTheOthersOfTheStageIsNot) {
  EXPECT_THAT(Pipeline({{"1", 3, 2}, {"1", 9, 2}, {"2", 0, 0}, {"2", 0, 0}}).left(),
              ElementsAre(50, 56, 50, 50));
}

TEST(LeaveOutReadingTest, WhatOtherStagesDoAsWellIsCompared) {
  EXPECT_THAT(Pipeline({{"1", 3, 2}, {"1", 3, 2}, {"2", 1, 2}, {"2", 1, 2}}).left(),
              ElementsAre(55, 55, 53, 53));
}

TEST(LeaveOutReadingTest, OfAStageOfOneRankOnlyLittle) {
  EXPECT_THAT(Pipeline({{"1", 3, 2}, {"2", 0, 0}, {"3", 0, 0}}).left(), ElementsAre(50, 50, 50));
  EXPECT_THAT(Pipeline({{"1", 8, 2}, {"2", 0, 0}, {"3", 0, 0}}).left(), ElementsAre(60, 50, 50));
}

TEST(LeaveOutReadingTest, AStepWithLessHasNone) {
  Pipeline one({{"1", 3, 0}, {"1", 3, 0}, {"2", 0, 0}});
  one.work.kind_ns[0][1][index_of(OwnKind::kInput)] = 0;
  one.work.own_ns[0][1] -= 3'000'000;
  one.left();
  EXPECT_EQ(one.work.own_ns[0][1], 50'000'000);
}

TEST(LeaveOutReadingTest, RanksWithoutStagesKeepAll) {
  Pipeline one({{"", 3, 2}, {"", 0, 0}, {"", 0, 0}});
  for (Role& role : one.roles.of) role.is_stage = false;
  EXPECT_THAT(one.left(), ElementsAre(55, 50, 50));
}

}  // namespace
}  // namespace dprof::analyzer
