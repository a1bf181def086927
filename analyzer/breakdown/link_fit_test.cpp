// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/link_fit.h"

#include <gtest/gtest.h>

#include <random>

namespace dprof::analyzer {
namespace {

// Transfers that take alpha + beta * bytes, mostly with some extra.
std::vector<SizedTransfers> noisy(const std::vector<int64_t>& sizes, double alpha, double beta,
                                  size_t n) {
  std::mt19937_64 random(17);
  std::exponential_distribution<double> late(1);
  std::vector<SizedTransfers> all;
  for (const int64_t bytes : sizes) {
    SizedTransfers size{.bytes = bytes, .transfers_ns = {}};
    const double least = alpha + beta * static_cast<double>(bytes);
    for (size_t i = 0; i < n; ++i)
      size.transfers_ns.push_back(static_cast<int64_t>(least * (1 + 0.1 * late(random))));
    all.push_back(std::move(size));
  }
  return all;
}

TEST(LinkFitTest, FindsAlphaAndBeta) {
  const auto cost =
      fit_cost(noisy({1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 22}, 50'000, 0.2, 200));
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->alpha_ns, 50'000, 2'500);
  EXPECT_NEAR(cost->beta_ns_per_byte, 0.2, 0.01);
  EXPECT_LT(cost->residual, 0.05);
  EXPECT_EQ(cost->sizes, 5);
  EXPECT_EQ(cost->n, 1000);
}

TEST(LinkFitTest, OneOddSizeDoesNotMoveIt) {
  auto sizes =
      noisy({1 << 12, 1 << 15, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22}, 20'000, 0.5, 100);
  for (int64_t& t : sizes[3].transfers_ns) t *= 5;
  const auto cost = fit_cost(sizes);
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->beta_ns_per_byte, 0.5, 0.05);
}

TEST(LinkFitTest, NeedsThreeSizesThatSpanEightfold) {
  EXPECT_FALSE(fit_cost(noisy({1000, 100'000}, 10, 1, 50)));
  EXPECT_FALSE(fit_cost(noisy({1000, 2000, 7999}, 10, 1, 50)));
  EXPECT_TRUE(fit_cost(noisy({1000, 2000, 8000}, 10, 1, 50)));
  EXPECT_FALSE(fit_cost(noisy({1000, 2000, 8000}, 10, 1, 2))) << "two transfers are too few";
  EXPECT_FALSE(fit_cost({}));
}

TEST(LinkFitTest, LargerOnesThatTakeLessAreNoLink) {
  EXPECT_FALSE(fit_cost(noisy({1000, 4000, 16'000}, 1'000'000, -20, 50)));
}

TEST(LinkFitTest, OnePerGroupAndFunction) {
  Matching matching;
  matching.groups.resize(2);
  for (const int64_t bytes : {10'000, 100'000, 1'000'000}) {
    for (int i = 0; i < 5; ++i) {
      matching.instances.push_back({.group = 1,
                                    .function = schema::Function::kAllReduce,
                                    .comparable = true,
                                    .bytes = bytes,
                                    .transfer_ns = 1000 + 2 * bytes,
                                    .members = {}});
      matching.instances.push_back({.group = 0,
                                    .function = schema::Function::kBroadcast,
                                    .comparable = true,
                                    .guessed = true,
                                    .bytes = bytes,
                                    .transfer_ns = 1000 + bytes,
                                    .members = {}});
      matching.messages.push_back({.group = 0, .bytes = bytes, .transfer_ns = 500 + bytes});
    }
  }
  const auto costs = fit_costs(matching);
  ASSERT_EQ(costs.size(), 2U);
  EXPECT_NEAR(costs.at({1, schema::Function::kAllReduce}).beta_ns_per_byte, 2, 1e-9);
  EXPECT_NEAR(costs.at({1, schema::Function::kAllReduce}).alpha_ns, 1000, 1e-3);
  EXPECT_NEAR(costs.at({0, schema::Function::kSend}).alpha_ns, 500, 1e-3);
}

}  // namespace
}  // namespace dprof::analyzer
