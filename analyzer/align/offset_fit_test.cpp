// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/offset_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "analyzer/align/test_support/synthetic_clock.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr Interval kNoMore{};

struct Errors {
  std::vector<double> all;  // absolute
  std::vector<double> bounds;
  int64_t covered = 0;

  void add(const ClockMap& map, const ClockShape& shape, double ref_ns) {
    const TraceNs local{std::llround(ref_ns + shape.offset(ref_ns))};
    const double error = std::abs(static_cast<double>(map.to_axis(local).ns) - ref_ns);
    const auto bound = static_cast<double>(map.bound_at(local).value());
    all.push_back(error);
    bounds.push_back(bound);
    covered += error <= bound ? 1 : 0;
  }
  [[nodiscard]] double rms() const {
    double sum = 0;
    for (const double e : all) sum += e * e;
    return std::sqrt(sum / static_cast<double>(all.size()));
  }
  [[nodiscard]] double coverage() const {
    return static_cast<double>(covered) / static_cast<double>(all.size());
  }
};

void sample(const ClockShape& shape, const NetworkShape& network, double seconds, uint64_t seed,
            Errors& errors) {
  const std::optional<OffsetFit> fit = fit_offset(cloud_of(shape, network, seconds, seed), kNoMore);
  ASSERT_TRUE(fit);
  for (double s = 0.01; s < seconds - 0.9; s += 0.1) errors.add(fit->map, shape, s * 1e9);
}

struct Scenario {
  const char* name;
  ClockShape clock;
  NetworkShape network;
  double seconds;
  double most_p99_us;
};

class OffsetFitTest : public ::testing::TestWithParam<Scenario> {};

TEST_P(OffsetFitTest, BoundsCoverTheTruth) {
  const Scenario& s = GetParam();
  Errors errors;
  for (uint64_t seed = 1; seed <= 20; ++seed) sample(s.clock, s.network, s.seconds, seed, errors);
  const double p99 = quantile(errors.all, 0.99) / 1e3;
  std::printf("%-26s rms %8.3f us  p99 %8.3f us  max %8.3f us  bound %7.1f us  covered %.5f\n",
              s.name, errors.rms() / 1e3, p99, std::ranges::max(errors.all) / 1e3,
              median(errors.bounds) / 1e3, errors.coverage());
  EXPECT_GE(errors.coverage(), 0.999);
  EXPECT_LE(p99, s.most_p99_us);
}

constexpr double kWander = 0.3e-6;
const Scenario kScenarios[] = {
    {"idle", {}, kIdle, 300, 1},
    {"busy", {}, kBusy, 300, 5},
    {"busy_wander", {.wander = kWander}, kBusy, 300, 5},
    {"very_busy_wander", {.wander = kWander}, kVeryBusy, 300, 20},
    {"busy_asymmetric", {}, {.asymmetry_ns = 6e3, .clean = 0.1, .queue_ns = 200e3}, 300, 10},
    {"offset_10s_50ppm", {.offset_ns = 1e10, .drift = 50e-6, .wander = kWander}, kBusy, 300, 5},
    {"offset_minus_10s", {.offset_ns = -1e10, .drift = -50e-6, .wander = kWander}, kBusy, 300, 5},
    {"short_10s", {.drift = 50e-6}, kBusy, 10, 20},
    {"short_3s_idle", {.drift = 50e-6}, kIdle, 3, 5},
    {"two_windows", {.drift = -50e-6, .wander = kWander}, kBusy, 25, 20},
    {"step_forward", {.wander = kWander, .step_at_s = 150.5, .step_ns = 5e6}, kBusy, 300, 5000},
    {"step_backward", {.wander = kWander, .step_at_s = 150.5, .step_ns = -5e6}, kBusy, 300, 5000},
    // Too small to distinguish from queueing: the bounds have to hold all the same.
    {"step_40us", {.step_at_s = 150.5, .step_ns = 4e4}, kBusy, 300, 5000},
    {"step_15us", {.step_at_s = 155, .step_ns = -1.5e4}, kIdle, 300, 5000},
    {"fast_wander", {.wander = kWander, .wander_period_s = 60}, kBusy, 300, 10},
};
INSTANTIATE_TEST_SUITE_P(Clocks, OffsetFitTest, ::testing::ValuesIn(kScenarios),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(OffsetFit, FindsTheStepAndOnlyThat) {
  for (const double step_ns : {0.0, 1e6, -1e6, 1e9}) {
    const ClockShape shape{
        .wander = kWander, .step_at_s = step_ns == 0 ? -1 : 60.0, .step_ns = step_ns};
    const std::optional<OffsetFit> fit = fit_offset(cloud_of(shape, kVeryBusy, 120, 3), kNoMore);
    ASSERT_TRUE(fit);
    EXPECT_EQ(fit->resets, step_ns == 0 ? 0 : 1) << step_ns;
    EXPECT_NEAR(fit->drift, 12e-6, 1e-6) << step_ns;
  }
}

TEST(OffsetFit, ABurstThatCannotBeTrueIsLeftOut) {
  Cloud cloud = cloud_of({}, kIdle, 60, 1);
  cloud.at_least({30'500'000'000}, 900'000'000);
  cloud.at_most({30'500'000'001}, 900'000'010);
  const std::optional<OffsetFit> fit = fit_offset(std::move(cloud), kNoMore);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->contradicting, 1);
  EXPECT_EQ(fit->resets, 0);
  EXPECT_NEAR(static_cast<double>(fit->map.offset_at({30'500'000'000})), 5e6 + 30.5 * 12e3, 2e3);
}

TEST(OffsetFit, AConstantAddedToAClockChangesTheOffsetOnly) {
  constexpr int64_t kMore = 7'777'777'777;
  Cloud plain;
  Cloud moved;
  probe({.wander = kWander}, kBusy, 60, 4, [&](const ProbeTimes& p) {
    plain.at_least({p.send}, p.send - p.peer_receive);
    plain.at_most({p.receive}, p.receive - p.peer_reply);
    moved.at_least({p.send + kMore}, p.send + kMore - p.peer_receive);
    moved.at_most({p.receive + kMore}, p.receive + kMore - p.peer_reply);
  });
  const std::optional<OffsetFit> a = fit_offset(std::move(plain), {{0}, {90'000'000'000}});
  const std::optional<OffsetFit> b =
      fit_offset(std::move(moved), {{kMore}, {90'000'000'000 + kMore}});
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->drift, b->drift);
  EXPECT_EQ(a->likely_ns, b->likely_ns);
  ASSERT_EQ(a->map.knots().size(), b->map.knots().size());
  for (size_t k = 0; k < a->map.knots().size(); ++k) {
    const ClockMap::Knot& one = a->map.knots()[k];
    const ClockMap::Knot& other = b->map.knots()[k];
    EXPECT_EQ(one.local.ns + kMore, other.local.ns);
    EXPECT_EQ(one.offset_ns + kMore, other.offset_ns);
    EXPECT_EQ(one.bound_ns, other.bound_ns);
  }
}

TEST(OffsetFit, EvidenceOfAllSourcesIsIntersected) {
  // One source bounds the offset well from below, the other from above; each has a half-width of 50
  // us.
  Cloud cloud;
  for (int64_t s = 0; s < 9; ++s) {
    const TraceNs at{s * kNsPerSecond};
    cloud.at_least(at, s % 2 == 0 ? -5'000 : -95'000);
    cloud.at_most(at, s % 2 == 0 ? 95'000 : 5'000);
  }
  const std::optional<OffsetFit> fit = fit_offset(std::move(cloud), kNoMore);
  ASSERT_TRUE(fit);
  EXPECT_LT(fit->map.bound_at({4 * kNsPerSecond}).value(), 15'000);
  EXPECT_LT(std::abs(fit->map.offset_at({4 * kNsPerSecond})), 1'000);
}

TEST(OffsetFit, BoundsGrowWhereThereIsNoEvidence) {
  const ClockShape shape{.wander = kWander, .wander_period_s = 200};
  const Interval covers{{-20'000'000'000}, {140'000'000'000}};
  const std::optional<OffsetFit> fit = fit_offset(cloud_of(shape, kBusy, 60, 9), covers);
  ASSERT_TRUE(fit);
  Errors errors;
  for (double s = 61; s < 100; s += 1) errors.add(fit->map, shape, s * 1e9);
  EXPECT_EQ(errors.covered, static_cast<int64_t>(errors.all.size()));
  EXPECT_GT(errors.bounds.back(), 2 * errors.bounds.front());
}

TEST(OffsetFit, OneSidedEvidenceGivesNothing) {
  Cloud cloud;
  cloud.at_least({0}, 5);
  cloud.at_least({1'000}, 6);
  EXPECT_FALSE(fit_offset(std::move(cloud), kNoMore));
  EXPECT_FALSE(fit_offset(Cloud(), kNoMore));
}

TEST(OffsetFit, ASingleProbeBoundsTheOffset) {
  Cloud cloud;
  cloud.at_least({1'000'000}, 480'000);
  cloud.at_most({1'050'000}, 520'000);
  const std::optional<OffsetFit> fit = fit_offset(std::move(cloud), kNoMore);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(static_cast<double>(fit->map.offset_at({1'020'000})), 500'000, 10);
  EXPECT_GE(fit->map.bound_at({1'020'000}).value(), 20'000);
  EXPECT_LT(fit->map.bound_at({1'020'000}).value(), 25'000);
}

}  // namespace
}  // namespace dprof::analyzer
