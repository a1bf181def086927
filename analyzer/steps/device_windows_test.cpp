// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/device_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;
using Windows = std::vector<std::optional<Interval>>;

TEST(DeviceWindowsTest, BeginWithTheFirstWorkLaunchedInTheStep) {
  const std::vector<Launch> launches = {{{0}, {50}},    {{10}, {80}},   {{90}, {300}},
                                        {{100}, {310}}, {{150}, {400}}, {{200}, {500}}};
  const std::vector<Interval> hosts = {{{0}, {100}}, {{100}, {200}}, {{200}, {300}}};
  EXPECT_THAT(device_windows_of(launches, hosts, {700}),
              ElementsAre(Interval{{50}, {310}}, Interval{{310}, {500}}, Interval{{500}, {700}}));
}

TEST(DeviceWindowsTest, WorkOfAGapEndsTheWindowBeforeIt) {
  const std::vector<Launch> launches = {{{10}, {20}}, {{120}, {200}}, {{210}, {300}}};
  const std::vector<Interval> hosts = {{{0}, {100}}, {{200}, {300}}};
  EXPECT_THAT(device_windows_of(launches, hosts, {400}),
              ElementsAre(Interval{{20}, {200}}, Interval{{300}, {400}}));
}

TEST(DeviceWindowsTest, StepThatLaunchedNothingHasNone) {
  const std::vector<Launch> launches = {{{10}, {20}}, {{210}, {300}}};
  const std::vector<Interval> hosts = {{{0}, {100}}, {{100}, {200}}, {{200}, {300}}};
  EXPECT_THAT(device_windows_of(launches, hosts, {400}),
              ElementsAre(Interval{{20}, {300}}, std::nullopt, Interval{{300}, {400}}));
}

TEST(DeviceWindowsTest, BeginsNeverGoBack) {
  // A copy for the next step overtakes on another stream.
  const std::vector<Launch> launches = {{{10}, {90}}, {{110}, {60}}, {{120}, {200}}};
  const std::vector<Interval> hosts = {{{0}, {100}}, {{100}, {200}}};
  const Windows windows = device_windows_of(launches, hosts, {400});
  EXPECT_THAT(windows, ElementsAre(std::nullopt, Interval{{60}, {400}}));
}

TEST(LaunchGathererTest, JoinsNeighboursAboveItsLimit) {
  LaunchGatherer gatherer;
  const auto n = static_cast<int64_t>(LaunchGatherer::kMost) + 10;
  for (int64_t i = 0; i < n; ++i) gatherer.add({i * 10}, {i * 10 + 1000});
  const std::vector<Launch> launches = gatherer.take();
  EXPECT_LT(launches.size(), LaunchGatherer::kMost);
  EXPECT_EQ(launches.front().start.ns, 1000);
  EXPECT_EQ(launches.back().start.ns, (n - 1) * 10 + 1000);
  EXPECT_EQ(launches[1].launch.ns, 20);
}

TEST(TokenGathererTest, LeavesOutTheMostFrequentNames) {
  TokenGatherer gatherer;
  for (int64_t i = 0; i < static_cast<int64_t>(TokenGatherer::kMost) * 3; ++i)
    gatherer.add(i % 100 == 0 ? 2 : 1, {i});
  const std::vector<HostToken> tokens = gatherer.take();
  ASSERT_FALSE(tokens.empty());
  EXPECT_LT(tokens.size(), TokenGatherer::kMost);
  for (size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_EQ(tokens[i].name, 2);
    ASSERT_EQ(tokens[i].at.ns, static_cast<int64_t>(i) * 100);
  }
}

}  // namespace
}  // namespace dprof::analyzer
