// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/finding_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Finding> findings_caused_by(const std::vector<std::optional<int>>& causes) {
  std::vector<Finding> findings(causes.size());
  for (size_t i = 0; i < causes.size(); ++i) findings[i].caused_by = causes[i];
  return findings;
}

TEST(FindingTree, SymptomsHangBelowTheirFirstCause) {
  const std::vector<FindingNode> nodes = finding_tree(findings_caused_by({{}, 0, {}, 1, 2}));
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].index, 0U);
  EXPECT_THAT(nodes[0].symptoms, ElementsAre(1, 3));
  EXPECT_EQ(nodes[1].index, 2U);
  EXPECT_THAT(nodes[1].symptoms, ElementsAre(4));
}

TEST(FindingTree, ACauseMayComeAfterItsSymptom) {
  const std::vector<FindingNode> nodes = finding_tree(findings_caused_by({1, {}}));
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].index, 1U);
  EXPECT_THAT(nodes[0].symptoms, ElementsAre(0));
}

TEST(FindingTree, BrokenCausesLoseNoFinding) {
  EXPECT_THAT(finding_tree({}), IsEmpty());
  EXPECT_EQ(finding_tree(findings_caused_by({7, -1, {}})).size(), 3U);
  EXPECT_EQ(finding_tree(findings_caused_by({1, 0})).size(), 2U) << "a circle";
  EXPECT_EQ(finding_tree(findings_caused_by({0})).size(), 1U);
  EXPECT_EQ(finding_tree(findings_caused_by({1, 2, 1})).size(), 3U) << "a circle further on";
}

struct TitleCase {
  const char* title;
  std::optional<int64_t> cost_ns;
  const char* heading;
  const char* price;
  const char* rest;
  const char* whole;
};

TEST(FindingTitle, IsTakenApartAtItsPrice) {
  for (const TitleCase& c : {
           TitleCase{"rank 5 is slow: +46.2 ms per step (15 %), in 98 % of steps", 46'200'000,
                     "rank 5 is slow", "+46.2 ms per step (15 %)", "in 98 % of steps",
                     "rank 5 is slow: +46.2 ms per step (15 %), in 98 % of steps"},
           TitleCase{"transfers: 3.0 ms per step (1.0 %)", 3'000'000, "transfers",
                     "3.0 ms per step (1.0 %)", "", "transfers: 3.0 ms per step (1.0 %)"},
           TitleCase{"a title that leaves out its price", 30'000'000,
                     "a title that leaves out its price", "30.0 ms per step (10 %)", "",
                     "a title that leaves out its price: 30.0 ms per step (10 %)"},
           TitleCase{"waits: of 9.0 ms it wins 3.0 ms per step", 3'000'000,
                     "waits: of 9.0 ms it wins 3.0 ms per step", "3.0 ms per step (1.0 %)", "",
                     "waits: of 9.0 ms it wins 3.0 ms per step"},
           TitleCase{"1,204 records were lost",
                     {},
                     "1,204 records were lost",
                     "",
                     "",
                     "1,204 records were lost"},
           TitleCase{"cut: 3.0 ms per step (", 3'000'000, "cut", "3.0 ms per step (", "",
                     "cut: 3.0 ms per step ("},
       }) {
    Finding finding{.title = c.title, .cost_ns = c.cost_ns};
    const TitleParts parts = parts_of_title(finding, 300e6);
    EXPECT_EQ(parts.heading, c.heading);
    EXPECT_EQ(parts.price, c.price) << c.title;
    EXPECT_EQ(parts.rest, c.rest) << c.title;
    EXPECT_EQ(priced_title(finding, 300e6), c.whole);
  }
}

}  // namespace
}  // namespace dprof::analyzer
