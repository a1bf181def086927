// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/marks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;

struct Mark {
  std::string name;
  int64_t begin;
  int64_t end;
};

// The marks within steps 0…100 and 200…300: "name step×count=ns".
std::vector<std::string> settled(const std::vector<Mark>& marks, int64_t* left_out = nullptr) {
  MarkGatherer gatherer;
  for (const Mark& mark : marks) gatherer.add(mark.name, {{mark.begin}, {mark.end}});
  RankDigest digest;
  digest.steps = {{0, {{0}, {100}}}, {1, {{200}, {300}}}};
  std::move(gatherer).settle(digest);
  std::vector<std::string> texts;
  for (const MarkedPhase& phase : digest.marked) {
    std::string text = phase.name;
    for (const MarksInStep& in : phase.in_steps)
      text += fmt::format(" {}×{}={}", in.step, in.count, in.total_ns);
    texts.push_back(std::move(text));
  }
  if (left_out != nullptr) *left_out = digest.marks_left_out;
  return texts;
}

TEST(MarksTest, CountsByNameAndStep) {
  EXPECT_THAT(settled({{"input", 0, 10},
                       {"forward", 10, 40},
                       {"augment", 40, 50},
                       {"forward", 210, 230},
                       {"forward", 240, 250}}),
              ElementsAre("input 0×1=10", "forward 0×1=30 1×2=30", "augment 0×1=10"));
}

TEST(MarksTest, AMicroStepOnlyHoldsOthers) {
  EXPECT_THAT(settled({{"micro_step", 0, 40},
                       {"forward", 0, 10},
                       {"loss", 10, 20},
                       {"inner", 12, 15},
                       {"micro_step", 50, 90},
                       {"forward", 50, 60}}),
              ElementsAre("micro_step 0×2=80", "forward 0×2=20", "loss 0×1=10"));
}

TEST(MarksTest, OfNestedOnesOnlyThePhasesWithAKnownNameAreListed) {
  EXPECT_THAT(
      settled({{"train_batch", 0, 90}, {"forward", 5, 50}, {"layer", 6, 20}, {"gather", 40, 45}}),
      ElementsAre("train_batch 0×1=90", "forward 0×1=45", "gather 0×1=5"));
}

TEST(MarksTest, WhatIsAroundOrBetweenStepsIsNoPhase) {
  EXPECT_THAT(settled({{"epoch", -50, 900},
                       {"forward", 10, 20},
                       {"validation", 120, 180},
                       {"tail", 90, 110},
                       {"forward", 210, 230}}),
              ElementsAre("forward 0×1=10 1×1=20"));
}

TEST(MarksTest, FurtherNamesAreCounted) {
  std::vector<Mark> marks;
  for (int64_t i = 0; i < 70; ++i) marks.push_back({fmt::format("batch {}", i), i, i + 1});
  int64_t left_out = 0;
  EXPECT_EQ(settled(marks, &left_out).size(), MarkGatherer::kMostPhases);
  EXPECT_EQ(left_out, 70 - static_cast<int64_t>(MarkGatherer::kMostPhases));
}

TEST(MarksTest, NamesWithoutEndTakeNoMemoryWithoutEnd) {
  std::vector<Mark> marks;
  const auto most = static_cast<int64_t>(MarkGatherer::kMostNames);
  for (int64_t i = 0; i < most + 5; ++i)
    marks.push_back({fmt::format("batch {}", i), 1000 + i, 1001 + i});
  int64_t left_out = 0;
  EXPECT_TRUE(settled(marks, &left_out).empty());
  EXPECT_EQ(left_out, 5);
}

}  // namespace
}  // namespace dprof::analyzer
