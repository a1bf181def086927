// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/data/shares.h"

#include <gtest/gtest.h>

#include <vector>

#include "trainer_harness/common/usage_error.h"

namespace dprof::trainer_harness {
namespace {

std::vector<int64_t> lengths(Uneven uneven, double skew, int64_t size, int ranks) {
  DataOptions options;
  options.uneven = uneven;
  options.skew = skew;
  std::vector<int64_t> samples;
  for (int rank = 0; rank < ranks; ++rank) {
    samples.push_back(share_of(options, size, ranks, rank).samples);
  }
  return samples;
}

TEST(Shares, AreEquallyLongUnlessAskedOtherwise) {
  EXPECT_EQ(lengths(Uneven::kPad, 1, 11, 2), (std::vector<int64_t>{6, 6}));
  EXPECT_EQ(lengths(Uneven::kDrop, 1, 11, 2), (std::vector<int64_t>{5, 5}));
  EXPECT_EQ(lengths(Uneven::kPad, 1, 12, 3), (std::vector<int64_t>{4, 4, 4}));
}

TEST(Shares, OfASkewHaveTheFactorBetweenThem) {
  EXPECT_EQ(lengths(Uneven::kSkew, 2, 12, 2), (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(lengths(Uneven::kSkew, 0.5, 12, 2), (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(lengths(Uneven::kSkew, 3, 13, 3), (std::vector<int64_t>{9, 2, 2}));
  EXPECT_EQ(lengths(Uneven::kJoin, 1, 10, 2), (std::vector<int64_t>{6, 4}));
  EXPECT_EQ(lengths(Uneven::kJoin, 4, 10, 2), (std::vector<int64_t>{8, 2}));
}

TEST(Shares, LeaveNoRankWithoutASample) {
  EXPECT_EQ(lengths(Uneven::kSkew, 1000, 4, 3), (std::vector<int64_t>{2, 1, 1}));
  EXPECT_EQ(lengths(Uneven::kSkew, 0.001, 4, 2), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(lengths(Uneven::kSkew, 2, 7, 1), (std::vector<int64_t>{7}));
  EXPECT_THROW((void)share_of({}, 3, 4, 0), UsageError);
}

TEST(Shares, OfASkewCoverTheDataWithoutOverlap) {
  DataOptions options;
  options.uneven = Uneven::kSkew;
  options.skew = 1.7;
  int64_t end = 0;
  for (int rank = 0; rank < 5; ++rank) {
    const Share share = share_of(options, 101, 5, rank);
    EXPECT_EQ(share.begin, end);
    EXPECT_EQ(share.parts, 1);
    end += share.samples;
  }
  EXPECT_EQ(end, 101);
}

TEST(Shares, WithoutASamplerEachIsEverything) {
  DataOptions options;
  options.sampler = SamplerKind::kNone;
  options.uneven = Uneven::kDrop;
  EXPECT_EQ(share_of(options, 11, 2, 1), (Share{.samples = 11}));
}

}  // namespace
}  // namespace dprof::trainer_harness
