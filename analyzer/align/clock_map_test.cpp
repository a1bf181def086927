// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/clock_map.h"

#include <gtest/gtest.h>

#include <random>

#include "analyzer/align/hull.h"

namespace dprof::analyzer {
namespace {

ClockMap two_knots() { return ClockMap({{{0}, 100, 7}, {{1'000'000}, 150, 9}}); }

TEST(ClockMap, NoKnotsAreTheIdentity) {
  const ClockMap map;
  EXPECT_TRUE(map.is_identity());
  EXPECT_EQ(map.to_axis({42}), TraceNs{42});
  EXPECT_EQ(map.bound_at({42}), 0);
}

TEST(ClockMap, IsLinearBetweenKnotsAndConstantBeyond) {
  const ClockMap map = two_knots();
  EXPECT_EQ(map.to_axis({-50}), TraceNs{-150});
  EXPECT_EQ(map.to_axis({500'000}), TraceNs{500'000 - 125});
  EXPECT_EQ(map.to_axis({2'000'000}), TraceNs{2'000'000 - 150});
  EXPECT_EQ(map.bound_at({-50}), 7);
  EXPECT_EQ(map.bound_at({500'000}), 9) << "the larger one of the neighbours";
  EXPECT_EQ(map.bound_on_axis({500'000}), 9);
}

TEST(ClockMap, KeepsOrderEvenWhereTheClockJumped) {
  // Ahead by five times more than the time between them: the axis must not run backwards.
  const ClockMap map({{{0}, 0, 1}, {{10}, 500, 1}, {{1'000}, 400, 1}});
  TraceNs last = map.to_axis({-20});
  for (int64_t t = -20; t < 1'100; ++t) {
    EXPECT_GE(map.to_axis({t}), last);
    last = map.to_axis({t});
  }
  EXPECT_GE(map.knots()[1].bound_ns.value(), 490) << "what was moved is in the bound";
}

TEST(ClockMap, WayBackAndComposition) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int64_t> offset(-1'000, 1'000);
  for (int round = 0; round < 50; ++round) {
    std::vector<ClockMap::Knot> a;
    std::vector<ClockMap::Knot> b;
    for (int64_t k = 0; k < 5; ++k) {
      a.push_back({{k * 1'000'000}, offset(random), 10 + k});
      b.push_back({{k * 700'000}, offset(random), 20});
    }
    const ClockMap one(a);
    const ClockMap two(b);
    const ClockMap both = composed(one, two);
    const ClockMap back = inverse_of(one);
    for (int64_t t = -500'000; t < 5'000'000; t += 99'991) {
      EXPECT_NEAR(static_cast<double>(both.to_axis({t}).ns),
                  static_cast<double>(two.to_axis(one.to_axis({t})).ns), 3);
      EXPECT_NEAR(static_cast<double>(back.to_axis(one.to_axis({t})).ns), static_cast<double>(t),
                  2);
      EXPECT_NEAR(static_cast<double>(one.from_axis(one.to_axis({t})).ns), static_cast<double>(t),
                  2);
      EXPECT_GE(both.bound_at({t}).value(), one.bound_at({t}).value());
    }
  }
}

TEST(ClockMap, AnUnknownBoundStaysUnknown) {
  const ClockMap map({{{0}, 0, std::nullopt}, {{10}, 0, 5}});
  EXPECT_FALSE(map.bound_at({5}));
  EXPECT_FALSE(composed(two_knots(), map).bound_at({5}));
}

TEST(Hull, LiesBelowAllPoints) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> value(0, 1);
  for (int round = 0; round < 50; ++round) {
    std::vector<Point> points;
    for (int i = 0; i < 200; ++i) points.push_back({std::floor(i / 2.0), value(random)});
    const std::vector<Point> hull = lower_hull(points);
    for (double t = 0; t < 99; t += 7) {
      const Line line = edge_over(hull, t);
      for (const Point& p : points) EXPECT_GE(p.v, line.at(p.t) - 1e-9);
    }
    const Line above = edge_over(upper_hull(points), 50);
    for (const Point& p : points) EXPECT_LE(p.v, above.at(p.t) + 1e-9);
  }
}

// Moon, Skelly and Towsley: no line below the points has a smaller sum of distances.
TEST(Hull, EdgeOverTheMeanIsTheClosestLine) {
  std::mt19937_64 random(3);
  std::exponential_distribution<double> queue(1);
  std::vector<Point> points;
  double mean = 0;
  for (int i = 0; i < 100; ++i) {
    points.push_back({static_cast<double>(i), 0.3 * i + queue(random)});
    mean += i / 100.0;
  }
  const auto distance = [&](double slope) {  // of the highest line of that slope
    double offset = 1e300;
    for (const Point& p : points) offset = std::min(offset, p.v - slope * p.t);
    double sum = 0;
    for (const Point& p : points) sum += p.v - slope * p.t - offset;
    return sum;
  };
  const Line best = edge_over(lower_hull(points), mean);
  EXPECT_NEAR(best.slope, 0.3, 0.02);
  for (double slope = 0.2; slope < 0.4; slope += 0.001)
    EXPECT_LE(distance(best.slope), distance(slope) + 1e-9);
}

TEST(Hull, SlopesBetweenTwoClouds) {
  const std::vector<Point> floor = {{0, 0}, {10, 10}};
  const std::vector<Point> ceiling = {{0, 2}, {10, 12}};
  const std::optional<SlopeRange> range = slopes_between(floor, ceiling, 0);
  ASSERT_TRUE(range);
  EXPECT_DOUBLE_EQ(range->least, 0.8);
  EXPECT_DOUBLE_EQ(range->most, 1.2);
  EXPECT_FALSE(slopes_between(ceiling, floor, 0));
}

}  // namespace
}  // namespace dprof::analyzer
