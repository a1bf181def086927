// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/price.h"

#include <gtest/gtest.h>

#include <random>

#include "analyzer/stragglers/detect.h"

namespace dprof::analyzer {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStep = 100 * kMs;
constexpr size_t kSteps = 200;

// Ranks that all meet once in a step, and fluctuate by 2 % of it.
OwnWork fluctuating(size_t ranks) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  OwnWork work;
  for (size_t s = 0; s < kSteps; ++s) work.steps.push_back(s);
  for (size_t r = 0; r < ranks; ++r) {
    work.own_ns.emplace_back();
    for (size_t s = 0; s < kSteps; ++s)
      work.own_ns.back().push_back(kStep + static_cast<int64_t>(2e6 * normal(random)));
  }
  return work;
}

// Mean step, by the last rank.
double mean_step(const OwnWork& work) {
  double sum = 0;
  for (size_t s = 0; s < work.steps.size(); ++s) {
    int64_t last = 0;
    for (const Series& own : work.own_ns) last = std::max(last, own[s]);
    sum += static_cast<double>(last);
  }
  return sum / static_cast<double>(work.steps.size());
}

std::vector<Price> prices_of(const OwnWork& work, const std::vector<std::vector<Suspect>>& groups) {
  const Roles roles = same_roles(work.own_ns.size());
  const Steps steps;
  const Matching matching;
  const Comparison comparison{
      .digests = {}, .traces = {}, .steps = steps, .matching = matching, .pieces = {}};
  return Prices(comparison, work, roles).of(groups);
}

Price price_of(const OwnWork& work, const Suspect& suspect) {
  return prices_of(work, {{suspect}}).front();
}

Suspect of_rank(size_t rank, Shape shape, std::vector<size_t> when) {
  return {.rank = rank, .shape = shape, .when = std::move(when), .excess_ns = {}, .onset = {}};
}

class PriceTest : public ::testing::TestWithParam<size_t> {};

// Against one other rank as against many: the gain is that of the same run without the delay, and
// excludes fluctuation.
TEST_P(PriceTest, ALastingDelayCostsWhatTheRunWithoutItGains) {
  const OwnWork without = fluctuating(GetParam());
  for (const int64_t delay : {2 * kMs, 5 * kMs, 20 * kMs}) {
    OwnWork with = without;
    for (int64_t& own : with.own_ns[0]) own += delay;
    const double cost = mean_step(with) - mean_step(without);
    const Price price = price_of(with, of_rank(0, Shape::kPersistent, {}));
    EXPECT_NEAR(static_cast<double>(price.cost_ns), cost, static_cast<double>(price.bound_ns));
    EXPECT_LT(price.bound_ns, kMs);
    EXPECT_GT(price.bound_ns, kMs / 10);  // its delay is known from fluctuating steps
  }
}

TEST_P(PriceTest, ARankThatIsNotLateCostsNothing) {
  const Price price = price_of(fluctuating(GetParam()), of_rank(1, Shape::kPersistent, {}));
  EXPECT_LT(std::abs(price.cost_ns), kMs / 2);
}

TEST_P(PriceTest, ADelayNowAndThenCostsOnlyWhereItShows) {
  const OwnWork without = fluctuating(GetParam());
  OwnWork with = without;
  std::vector<size_t> when;
  for (size_t s = 3; s < kSteps; s += 20) {
    with.own_ns[0][s] += 50 * kMs;
    when.push_back(s);
  }
  const Price price = price_of(with, of_rank(0, Shape::kTransient, when));
  EXPECT_NEAR(static_cast<double>(price.cost_ns), mean_step(with) - mean_step(without), kMs / 10.0);
}

// The longer delay hides the shorter one: without it the run gains their difference, and only then
// is the other rank last.
TEST(PriceOfSeveralTest, WhoIsHiddenCostsWhatGoingAfterTheOtherGains) {
  const OwnWork without = fluctuating(8);
  OwnWork with = without;
  for (int64_t& own : with.own_ns[2]) own += 8 * kMs;
  for (int64_t& own : with.own_ns[5]) own += 20 * kMs;
  OwnWork lesser = without;
  lesser.own_ns[2] = with.own_ns[2];
  const std::vector<Price> prices =
      prices_of(with, {{of_rank(2, Shape::kPersistent, {})}, {of_rank(5, Shape::kPersistent, {})}});
  EXPECT_NEAR(static_cast<double>(prices[1].cost_ns), mean_step(with) - mean_step(lesser),
              kMs / 2.0);
  EXPECT_NEAR(static_cast<double>(prices[0].cost_ns), mean_step(lesser) - mean_step(without),
              kMs / 2.0);
}

TEST(PriceOfSeveralTest, EqualsHideEachOtherAndShare) {
  const OwnWork without = fluctuating(8);
  OwnWork with = without;
  for (int64_t& own : with.own_ns[2]) own += 20 * kMs;
  for (int64_t& own : with.own_ns[5]) own += 20 * kMs;
  const std::vector<Price> prices =
      prices_of(with, {{of_rank(2, Shape::kPersistent, {})}, {of_rank(5, Shape::kPersistent, {})}});
  const double both = mean_step(with) - mean_step(without);
  EXPECT_NEAR(static_cast<double>(prices[0].cost_ns), both / 2, kMs);
  EXPECT_NEAR(static_cast<double>(prices[1].cost_ns), both / 2, kMs);
}

INSTANTIATE_TEST_SUITE_P(Ranks, PriceTest, ::testing::Values(2, 3, 8, 64));

// A different rank each time: what remains is that some rank is always last.
TEST(PriceByTurnsTest, FluctuationIsNotPartOfTheDelay) {
  const OwnWork without = fluctuating(8);
  OwnWork with = without;
  Suspect suspect{
      .rank = {}, .shape = Shape::kRotating, .when = {}, .excess_ns = {}, .onset = {}, .turns = {}};
  for (size_t s = 0; s < kSteps; s += 2) {
    with.own_ns[s / 2 % 8][s] += 10 * kMs;
    suspect.when.push_back(s);
    suspect.turns.push_back({s / 2 % 8, s});
  }
  const Excess excess = excess_of(with, same_roles(8));
  for (size_t s = 0; s < kSteps; ++s) {
    int64_t worst = 0;
    for (const Series& of_rank : excess.total) worst = std::max(worst, of_rank[s]);
    suspect.excess_ns.push_back(worst);
  }
  const double cost = mean_step(with) - mean_step(without);
  EXPECT_NEAR(static_cast<double>(price_of(with, suspect).cost_ns), cost, 0.15 * cost);
}

}  // namespace
}  // namespace dprof::analyzer
