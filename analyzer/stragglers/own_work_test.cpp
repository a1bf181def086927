// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/own_work.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

namespace dprof::analyzer {
namespace {

Interval interval_ms(int64_t begin, int64_t end) {
  return {TraceNs{begin * 1'000'000}, TraceNs{end * 1'000'000}};
}

// Backward of 100 ms beside collectives, with operators at 0 to 10, 50 to 60 and 90 to 100: time
// between them that counts as the host's, in ms.
int64_t host_beside(const std::vector<std::optional<int64_t>>& ends_ms) {
  RankDigest digest;
  digest.ops = union_of(
      std::vector<Interval>{interval_ms(0, 10), interval_ms(50, 60), interval_ms(90, 100)});
  for (const std::optional<int64_t>& end : ends_ms) {
    CollectiveRecord record;
    if (end) record.end = TraceNs{*end * 1'000'000};
    digest.collectives.push_back(record);
  }
  const Lattice pieces = {{.span = interval_ms(0, 100),
                           .category = Category::kOverlapped,
                           .phase = Category::kBackward}};
  const std::array spans = {interval_ms(0, 100)};
  const KindNs kinds = kinds_over(digest, pieces, true, spans).front();
  EXPECT_EQ(kinds[index_of(OwnKind::kBackward)], 30'000'000);
  return kinds[index_of(OwnKind::kBackwardHost)] / 1'000'000;
}

TEST(OwnWorkTest, AWaitEndsWithACollective) {
  EXPECT_EQ(host_beside({50, 90}), 0);
  EXPECT_EQ(host_beside({50, 120}), 30);
  EXPECT_EQ(host_beside({120}), 70);
}

TEST(OwnWorkTest, WhatFollowsTheLastEndIsNoWait) {
  EXPECT_EQ(host_beside({20, 30, 90}), 20);
  EXPECT_EQ(host_beside({30, 85}), 25);
}

TEST(OwnWorkTest, WithoutTheEndsItIsPresumedToWait) {
  EXPECT_EQ(host_beside({120, std::nullopt}), 0);
}

}  // namespace
}  // namespace dprof::analyzer
