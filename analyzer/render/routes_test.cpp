// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

std::vector<std::string> texts_of(const std::vector<Edge>& edges) {
  std::vector<std::string> texts;
  std::vector<size_t> seen;
  for (const Route& route : routes_of(edges)) {
    texts.push_back(route.text);
    seen.insert(seen.end(), route.edges.begin(), route.edges.end());
  }
  std::ranges::sort(seen);
  for (size_t e = 0; e < seen.size(); ++e) EXPECT_EQ(seen[e], e) << "an edge is lost or doubled";
  EXPECT_EQ(seen.size(), edges.size());
  return texts;
}

TEST(RoutesTest, OnePair) { EXPECT_THAT(texts_of({{1, 0}}), ElementsAre("rank 1 → rank 0")); }

TEST(RoutesTest, APipelineIsAChainInEachDirection) {
  EXPECT_THAT(texts_of({{0, 1}, {1, 0}, {1, 2}, {2, 1}, {2, 3}, {3, 2}}),
              ElementsAre("ranks 0 → 1 → 2 → 3", "ranks 3 → 2 → 1 → 0"));
}

TEST(RoutesTest, ALongPipelineShowsItsEnds) {
  std::vector<Edge> edges;
  for (int rank = 0; rank < 63; ++rank) edges.push_back({rank, rank + 1});
  EXPECT_THAT(texts_of(edges), ElementsAre("ranks 0 → 1 → … → 63"));
}

TEST(RoutesTest, AServerIsAStarInEachDirection) {
  EXPECT_THAT(texts_of({{0, 3}, {1, 3}, {2, 3}, {3, 0}, {3, 1}, {3, 2}}),
              ElementsAre("ranks 0–2 → rank 3", "rank 3 → ranks 0–2"));
  EXPECT_THAT(texts_of({{0, 2}, {1, 2}, {3, 2}, {4, 2}}), ElementsAre("ranks 0, 1, 3, 4 → rank 2"));
}

TEST(RoutesTest, TwoWorkersAndAServer) {
  EXPECT_THAT(texts_of({{0, 2}, {1, 2}, {2, 0}, {2, 1}}),
              ElementsAre("ranks 0, 1 → rank 2", "rank 2 → ranks 0, 1"));
}

TEST(RoutesTest, ARingIsAChainAndTheWayBack) {
  EXPECT_THAT(texts_of({{0, 1}, {1, 2}, {2, 3}, {3, 0}}),
              ElementsAre("ranks 0 → 1 → 2 → 3", "rank 3 → rank 0"));
}

TEST(RoutesTest, SeparatePipelines) {
  EXPECT_THAT(texts_of({{0, 2}, {2, 4}, {1, 3}, {3, 5}}),
              ElementsAre("ranks 0 → 2 → 4", "ranks 1 → 3 → 5"));
}

TEST(RoutesTest, AllWithAllNamesEachReceiverOnce) {
  std::vector<Edge> edges;
  for (int from = 0; from < 5; ++from) {
    for (int to = 0; to < 5; ++to) {
      if (from != to) edges.push_back({from, to});
    }
  }
  EXPECT_EQ(texts_of(edges).size(), 5U);
}

TEST(RoutesTest, UnknownEndsAreSaid) {
  EXPECT_THAT(texts_of({{std::nullopt, 2}, {1, std::nullopt}}),
              UnorderedElementsAre("any → rank 2", "rank 1 → unknown"));
}

TEST(RoutesTest, NothingIsNothing) { EXPECT_TRUE(texts_of({}).empty()); }

}  // namespace
}  // namespace dprof::analyzer
