// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/stragglers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kTenthOfPercent = 100'000;
constexpr int64_t kJudgedStep = 1000 * kTenthOfPercent;

// Costs and bounds in tenths of a percent of the step.
Verdict verdict_on(int rank, int64_t cost, int64_t bound = 3,
                   std::string_view shape = "persistent") {
  Verdict verdict;
  verdict.straggler.rank = rank;
  verdict.straggler.shape = shape;
  verdict.straggler.cause = "compute";
  verdict.straggler.cost_ns = cost * kTenthOfPercent;
  verdict.straggler.bound_ns = bound * kTenthOfPercent;
  return verdict;
}

std::vector<int> named_of(std::vector<Verdict> verdicts, size_t ranks = 8) {
  name_together(verdicts, ranks, kJudgedStep);
  std::vector<int> named;
  for (const Verdict& verdict : verdicts) {
    if (verdict.named) named.push_back(*verdict.straggler.rank);
  }
  return named;
}

TEST(NameTogetherTest, DelaysThatCostEnoughOnlyTogether) {
  EXPECT_THAT(named_of({verdict_on(4, 17), verdict_on(1, 16)}), ElementsAre(4, 1));
  EXPECT_THAT(named_of({verdict_on(4, 14), verdict_on(1, 14)}), ElementsAre());
  std::vector<Verdict> both = {verdict_on(4, 24), verdict_on(1, 23)};
  name_together(both, 8, kJudgedStep);
  EXPECT_EQ(both[1].decided_by.back(), "2 such delays cost 4.7 ms per step together");
}

TEST(NameTogetherTest, OneIsNotSeveral) {
  EXPECT_THAT(named_of({verdict_on(4, 29)}), ElementsAre());
}

TEST(NameTogetherTest, OneThatMayCostNothingDoesNotCount) {
  EXPECT_THAT(named_of({verdict_on(4, 20), verdict_on(1, 20, 11)}), ElementsAre());
  EXPECT_THAT(named_of({verdict_on(4, 20), verdict_on(1, 20, 11), verdict_on(2, 14)}),
              ElementsAre(4, 2));
}

TEST(NameTogetherTest, OnlyDelaysThatLast) {
  EXPECT_THAT(named_of({verdict_on(4, 20), verdict_on(1, 20, 3, "transient")}), ElementsAre());
  std::vector<Verdict> links = {verdict_on(4, 20), verdict_on(1, 20)};
  links[1].straggler.cause = "network";
  EXPECT_THAT(named_of(links), ElementsAre());
}

TEST(NameTogetherTest, BesideOneThatIsNamedASmallOneIsNot) {
  std::vector<Verdict> verdicts = {verdict_on(4, 100), verdict_on(1, 20), verdict_on(2, 20)};
  verdicts[0].named = true;
  EXPECT_THAT(named_of(verdicts), ElementsAre(4));
}

TEST(NameTogetherTest, OfTwoRanksOnlyOneIsSlower) {
  EXPECT_THAT(named_of({verdict_on(0, 29), verdict_on(1, 29)}, 2), ElementsAre());
}

}  // namespace
}  // namespace dprof::analyzer
