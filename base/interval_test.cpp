// SPDX-License-Identifier: Apache-2.0
#include "base/interval.h"

#include <gtest/gtest.h>

#include <random>

namespace dprof {
namespace {

struct OverlapCase {
  const char* name;
  std::vector<Interval> compute, communication;
  int64_t want_ns;
};

class OverlapTest : public ::testing::TestWithParam<OverlapCase> {};

TEST_P(OverlapTest, CountsEveryInstantOnce) {
  const OverlapCase& c = GetParam();
  EXPECT_EQ(overlap_ns(c.compute, c.communication), c.want_ns);
  EXPECT_EQ(overlap_ns(c.communication, c.compute), c.want_ns) << "must be symmetric";
}

INSTANTIATE_TEST_SUITE_P(
    Interval, OverlapTest,
    ::testing::Values(OverlapCase{"touching_is_not_overlap", {{0, 10}}, {{10, 20}}, 0},
                      OverlapCase{"inside", {{0, 10}}, {{2, 5}}, 3},
                      OverlapCase{"two_kernels_on_one_stream", {{0, 8}, {4, 10}}, {{0, 10}}, 10},
                      OverlapCase{"empty_interval", {{3, 3}}, {{0, 10}}, 0},
                      OverlapCase{"nothing_recorded", {}, {{0, 10}}, 0}),
    [](const auto& test) { return std::string(test.param.name); });

// Compares the set operations with a raster of single nanoseconds, on random sets.
TEST(IntervalSetTest, AgreesWithBruteForceRaster) {
  constexpr int64_t kLength = 64;
  std::mt19937 random(7);
  const auto draw = [&] {
    std::vector<Interval> intervals;
    for (size_t n = random() % 6; n > 0; --n) {
      const int64_t begin = static_cast<int64_t>(random() % kLength);
      intervals.push_back(
          {{begin}, {std::min<int64_t>(kLength, begin + static_cast<int64_t>(random() % 20))}});
    }
    return intervals;
  };
  const auto covers = [](std::span<const Interval> set, int64_t t) {
    for (const Interval& i : set)
      if (i.begin.ns <= t && t < i.end.ns) return true;
    return false;
  };
  for (int round = 0; round < 2000; ++round) {
    const std::vector<Interval> raw_a = draw(), raw_b = draw();
    const IntervalSet a = union_of(raw_a), b = union_of(raw_b);
    const IntervalSet both = intersection_of(a, b), either = union_of(a, b),
                      rest = difference_of(a, b);
    int64_t want_both = 0;
    for (int64_t t = 0; t < kLength; ++t) {
      const bool in_a = covers(raw_a, t), in_b = covers(raw_b, t);
      ASSERT_EQ(covers(both, t), in_a && in_b);
      ASSERT_EQ(covers(either, t), in_a || in_b);
      ASSERT_EQ(covers(rest, t), in_a && !in_b);
      want_both += in_a && in_b;
    }
    ASSERT_EQ(measure(both).ns, want_both);
    ASSERT_EQ(measure(a).ns, measure(both).ns + measure(rest).ns);
  }
}

TEST(IntervalSetTest, ClippedToAnEmptyWindowIsEmpty) {
  EXPECT_TRUE(clipped({{{0}, {10}}}, {{5}, {5}}).empty());
  EXPECT_EQ(clipped({{{0}, {10}}}, {{5}, {50}}), (IntervalSet{{{5}, {10}}}));
}

TEST(HolderTest, IsTheOneThatHoldsTheMoment) {
  const std::vector<Interval> steps = {{{10}, {20}}, {{20}, {25}}, {{30}, {40}}};
  EXPECT_EQ(holder_of(steps, {9}), std::nullopt);
  EXPECT_EQ(holder_of(steps, {10}), 0U);
  EXPECT_EQ(holder_of(steps, {20}), 1U);
  EXPECT_EQ(holder_of(steps, {25}), std::nullopt) << "between two";
  EXPECT_EQ(holder_of(steps, {39}), 2U);
  EXPECT_EQ(holder_of(steps, {40}), std::nullopt);
  EXPECT_EQ(holder_of(std::vector<Interval>(), {1}), std::nullopt);
  struct Named {
    int name = 0;
    Interval span;
  };
  const std::vector<Named> named = {{1, {{0}, {5}}}, {2, {{5}, {9}}}};
  EXPECT_EQ(holder_of(named, {5}, &Named::span), 1U);
}

}  // namespace
}  // namespace dprof
