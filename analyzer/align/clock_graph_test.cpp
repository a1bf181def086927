// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/clock_graph.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analyzer/align/test_support/synthetic_clock.h"

namespace dprof::analyzer {
namespace {

constexpr double kSeconds = 60;
constexpr Interval kRun{{0}, {60'000'000'000}};

// Probes of clock `from` towards clock `to`, both with a known shape relative to the truth.
ClockEdge edge(size_t from, const ClockShape& from_shape, size_t to, const ClockShape& to_shape,
               const NetworkShape& network, uint64_t seed) {
  Cloud cloud;
  probe(from_shape, network, kSeconds, seed, [&](const ProbeTimes& p) {
    const auto there = [&](int64_t ref) {
      return ref + std::llround(to_shape.offset(static_cast<double>(ref)));
    };
    cloud.at_least({p.send}, p.send - there(p.peer_receive));
    cloud.at_most({p.receive}, p.receive - there(p.peer_reply));
  });
  const Interval all{{-30'000'000'000}, {90'000'000'000}};
  return {from, to, fit_offset(std::move(cloud), all).value(), 480};
}

void expect_covers(const PlacedClock& clock, const ClockShape& shape) {
  for (double ref = 1e9; ref < kSeconds * 1e9; ref += 1e9) {
    const TraceNs local{std::llround(ref + shape.offset(ref))};
    const double error = std::abs(static_cast<double>(clock.map.to_axis(local).ns) - ref);
    EXPECT_LE(error, static_cast<double>(clock.map.bound_at(local).value())) << ref;
  }
}

const ClockShape kTrue{.offset_ns = 0, .drift = 0};
const ClockShape kA{.offset_ns = 3e6, .drift = 20e-6};
const ClockShape kB{.offset_ns = -8e6, .drift = -30e-6};

TEST(ClockGraph, FollowsChainsInBothDirections) {
  // The reference probes A, and B probes A: the reference's host did not probe both.
  const std::vector<ClockEdge> edges = {edge(0, kTrue, 1, kA, kBusy, 1),
                                        edge(2, kB, 1, kA, kBusy, 2)};
  const ClockGraph graph = place_clocks(4, 0, edges, kRun);
  ASSERT_TRUE(graph.clocks[1] && graph.clocks[2]);
  expect_covers(*graph.clocks[1], kA);
  expect_covers(*graph.clocks[2], kB);
  EXPECT_NEAR(graph.clocks[2]->drift, -30e-6, 1e-6);
  EXPECT_FALSE(graph.clocks[3]) << "no way leads there";
}

TEST(ClockGraph, LoopsNarrowTheBounds) {
  const NetworkShape far{.one_way_ns = 100e3};
  const std::vector<ClockEdge> star = {edge(1, kA, 0, kTrue, far, 1),
                                       edge(2, kB, 0, kTrue, kIdle, 2)};
  std::vector<ClockEdge> loop = star;
  loop.push_back(edge(1, kA, 2, kB, kIdle, 3));
  const ClockGraph tree = place_clocks(3, 0, star, kRun);
  const ClockGraph fused = place_clocks(3, 0, loop, kRun);
  expect_covers(*fused.clocks[1], kA);
  expect_covers(*fused.clocks[2], kB);
  const TraceNs middle{30'000'000'000};
  EXPECT_LT(*fused.clocks[1]->map.bound_at(middle), *tree.clocks[1]->map.bound_at(middle) / 2);
  EXPECT_EQ(fused.contradicting_edges, 0);
}

TEST(ClockGraph, AnEdgeThatContradictsTheOthersIsDropped) {
  // One edge claims half a millisecond more than possible, as after an unseen clock step.
  const ClockShape lie{.offset_ns = kA.offset_ns + 5e5, .drift = kA.drift};
  const NetworkShape wide{.one_way_ns = 30e3};
  std::vector<ClockEdge> edges = {edge(1, kA, 0, kTrue, kIdle, 1), edge(2, kB, 0, kTrue, kIdle, 2),
                                  edge(3, kB, 0, kTrue, kIdle, 4), edge(1, kA, 3, kB, kIdle, 5),
                                  edge(2, kB, 3, kB, kIdle, 6),    edge(1, lie, 2, kB, wide, 3)};
  const ClockGraph graph = place_clocks(4, 0, edges, kRun);
  EXPECT_EQ(graph.contradicting_edges, 1);
  expect_covers(*graph.clocks[1], kA);
  expect_covers(*graph.clocks[2], kB);
  expect_covers(*graph.clocks[3], kB);
}

TEST(LeastAbsolute, AnOutlierMovesNothing) {
  std::vector<Residual> residuals = {{1, 0, 100, 10}, {2, 0, 200, 10}, {1, 2, -100, 10},
                                     {3, 1, 50, 10},  {3, 2, -50, 10}, {3, 0, 9'000, 10}};
  const std::vector<double> x = least_absolute(4, 0, residuals);
  // Residuals below 10 ns weigh the same: they share the pull of the outlier.
  EXPECT_NEAR(x[1], 100, 20);
  EXPECT_NEAR(x[2], 200, 20);
  EXPECT_NEAR(x[3], 150, 20);
}

TEST(Limits, AreIntersectedOverAllWays) {
  // Two paths to clock 1, each with a width of 50, which overlap by 10.
  const std::vector<Residual> residuals = {{1, 0, 0, 50}, {1, 0, 90, 50}};
  const std::optional<Limits> limits = limits_of(2, 0, residuals);
  ASSERT_TRUE(limits);
  EXPECT_DOUBLE_EQ(limits->least[1], 40);
  EXPECT_DOUBLE_EQ(limits->most[1], 50);
  const std::vector<Residual> impossible = {{1, 0, 0, 10}, {1, 0, 90, 10}};
  EXPECT_FALSE(limits_of(2, 0, impossible));
}

}  // namespace
}  // namespace dprof::analyzer
