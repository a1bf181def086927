// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/slow_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace dprof::analyzer {
namespace {

using schema::Function;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

GroupTransfer transfer(size_t group, int64_t window, int64_t ns, int64_t bytes = 1 << 20) {
  return {.group = group,
          .window = window,
          .function = Function::kAllReduce,
          .bytes = bytes,
          .ranks = 8,
          .topology = 1,
          .transfer_ns = ns};
}

// Eight groups over six windows; those in `slow` take a fifth longer from window `since` on.
std::vector<GroupTransfer> run_with(const std::vector<size_t>& slow, int64_t since) {
  std::mt19937_64 random(5);
  std::uniform_int_distribution<int64_t> noise(-20'000, 20'000);
  std::vector<GroupTransfer> all;
  for (int64_t window = 0; window < 6; ++window) {
    for (size_t group = 0; group < 8; ++group) {
      const bool is_slow = window >= since && std::ranges::count(slow, group) != 0;
      for (int i = 0; i < 5; ++i)
        all.push_back(transfer(group, window, (is_slow ? 1'200'000 : 1'000'000) + noise(random)));
    }
  }
  return all;
}

TEST(SlowGroupsTest, LastingSlownessIsFound) {
  const auto slow = slow_groups(run_with({2, 5}, 3));
  ASSERT_THAT(slow, SizeIs(2));
  EXPECT_EQ(slow[0].group, 2U);
  EXPECT_EQ(slow[0].windows, 3);
  EXPECT_NEAR(slow[0].ratio, 1.2, 0.03);
  EXPECT_EQ(slow[1].group, 5U);
}

TEST(SlowGroupsTest, TwoWindowsAreNotEnough) {
  EXPECT_THAT(slow_groups(run_with({2}, 4)), IsEmpty());
  EXPECT_THAT(slow_groups(run_with({}, 0)), IsEmpty());
}

TEST(SlowGroupsTest, OnlyEqualsAreCompared) {
  std::vector<GroupTransfer> all = run_with({}, 0);
  // Larger messages take longer, and two groups do not make a cluster.
  for (int64_t window = 0; window < 6; ++window) {
    all.push_back(transfer(1, window, 9'000'000, 1 << 24));
    all.push_back(transfer(2, window, 4'000'000, 1 << 24));
  }
  EXPECT_THAT(slow_groups(all), IsEmpty());
}

TEST(LocaliseTest, IntersectionOfSlowGroups) {
  const std::vector<GroupNodes> groups = {
      {0, {0, 1}}, {1, {1, 2}}, {2, {2, 3}}, {3, {3, 4}}, {4, {1, 4}}};
  const Localised found = localise(groups, std::vector<size_t>{0, 1, 4});
  ASSERT_FALSE(found.suspects.empty());
  EXPECT_EQ(found.suspects.front().node, 1);
  EXPECT_DOUBLE_EQ(found.suspects.front().score, 1);
  EXPECT_THAT(found.hitting_set, ElementsAre(1));
  EXPECT_FALSE(found.within_only);
}

TEST(LocaliseTest, TwoFaultsNeedTwoNodes) {
  const std::vector<GroupNodes> groups = {{0, {0, 1}}, {1, {1, 2}}, {2, {5, 6}},
                                          {3, {6, 7}}, {4, {0, 2}}, {5, {5, 7}}};
  EXPECT_THAT(localise(groups, std::vector<size_t>{0, 1, 2, 3}).hitting_set, ElementsAre(1, 6));
}

TEST(LocaliseTest, HealthyGroupsClearTheirNodes) {
  // Both nodes are in both slow groups; one of them is also in a healthy group.
  const std::vector<GroupNodes> groups = {{0, {3, 4}}, {1, {3, 4, 5}}, {2, {3, 6}}, {3, {3, 7}}};
  EXPECT_THAT(localise(groups, std::vector<size_t>{0, 1}).hitting_set, ElementsAre(4));
}

TEST(SlowGroupsTest, HalfOfTheGroupsMayBeSlow) {
  const auto slow = slow_groups(run_with({0, 1, 2, 3}, 0));
  ASSERT_THAT(slow, SizeIs(4));
  EXPECT_NEAR(slow[0].ratio, 1.2, 0.03);
  EXPECT_TRUE(slow[0].slow_before);
  EXPECT_FALSE(slow_groups(run_with({2}, 3)).front().slow_before);
  EXPECT_EQ(slow_groups(run_with({2}, 3)).front().first_window, 3);
}

// A fifth longer is not an anomaly if healthy groups differ by as much.
TEST(SlowGroupsTest, ExcessWithinTheSpreadIsNone) {
  std::vector<GroupTransfer> all = run_with({2}, 0);
  for (GroupTransfer& t : all) {
    if (t.group == 5) t.transfer_ns = t.transfer_ns * 85 / 100;
  }
  EXPECT_THAT(slow_groups(all), IsEmpty());
}

TEST(LocaliseTest, ANodeIsCertainOnlyIfNoOtherExplainsTheSame) {
  const std::vector<size_t> slow = {0, 1};
  // Both directions of one link: either end.
  const Localised link =
      localise(std::vector<GroupNodes>{{0, {1, 2}}, {1, {1, 2}}, {2, {0, 1}}, {3, {2, 3}}}, slow);
  EXPECT_THAT(link.certain, IsEmpty());
  EXPECT_TRUE(link.within_only);
  // The last of a chain: its other end also works elsewhere.
  const Localised last =
      localise(std::vector<GroupNodes>{{0, {2, 3}}, {1, {2, 3}}, {2, {1, 2}}, {3, {0, 1}}}, slow);
  EXPECT_THAT(last.certain, ElementsAre(3));
  EXPECT_FALSE(last.within_only);
}

TEST(LocaliseTest, OneGroupAloneIsNoSingleNode) {
  const Localised found =
      localise(std::vector<GroupNodes>{{0, {3, 4}}, {1, {5, 6}}}, std::vector<size_t>{0});
  EXPECT_TRUE(found.within_only);
  EXPECT_THAT(found.hitting_set, ElementsAre(3, 4));
  EXPECT_THAT(localise({}, {}).hitting_set, IsEmpty());
}

TEST(LocaliseTest, ManyNodesAreSearchedGreedily) {
  std::vector<GroupNodes> groups;
  std::vector<size_t> slow;
  for (size_t g = 0; g < 40; ++g) {
    groups.push_back({g, {static_cast<int>(g), 100}});
    slow.push_back(g);
  }
  EXPECT_THAT(localise(groups, slow).hitting_set, ElementsAre(100));
}

}  // namespace
}  // namespace dprof::analyzer
