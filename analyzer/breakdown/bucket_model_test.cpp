// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/bucket_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;

constexpr double kModelMs = 1e6;

// 160 equal tensors of 640,000 bytes, evenly over a backward of 60 ms.
std::vector<ReadyBytes> fixture() {
  std::vector<ReadyBytes> tensors;
  for (int64_t i = 0; i < 160; ++i) tensors.push_back({375'000 * (i + 1), 640'000});
  return tensors;
}
constexpr int64_t kBackwardEnd = 60'000'000;

// 16 ranks: a byte of an all-reduce crosses each link 1.875 times.
TransferCost cost_of(double bytes_per_second, double alpha_ms) {
  return {alpha_ms * kModelMs, 1.875e9 / bytes_per_second};
}

struct GoldenCap {
  int64_t cap_mib;
  size_t buckets;
  std::array<double, 3> exposed_ms;
};

// Computed with exact arithmetic.
constexpr GoldenCap kGolden[] = {
    {1, 80, {0.290, 131.295, 39.950}},   {2, 41, {0.290, 123.495, 1.970}},
    {5, 19, {0.650, 120.089, 1.805}},    {10, 11, {0.865, 121.489, 2.765}},
    {25, 5, {4.250, 129.289, 5.200}},    {50, 3, {9.170, 144.264, 10.120}},
    {100, 2, {19.010, 172.564, 19.960}},
};

const std::array<TransferCost, 3>& golden_costs() {
  static const std::array<TransferCost, 3> kCosts = {cost_of(10e9, 0.05), cost_of(1.1e9, 0.2),
                                                     cost_of(10e9, 1)};
  return kCosts;
}

TEST(BucketModelTest, GoldenTable) {
  for (const GoldenCap& row : kGolden) {
    const std::vector<ReadyBytes> buckets = in_buckets(fixture(), row.cap_mib * kMiB);
    EXPECT_EQ(buckets.size(), row.buckets) << row.cap_mib;
    for (size_t i = 0; i < 3; ++i) {
      const double exposed = exposed_after(buckets, golden_costs()[i], kBackwardEnd);
      EXPECT_NEAR(exposed / kModelMs, row.exposed_ms[i], 0.0005 + 1e-9)
          << row.cap_mib << " MiB, " << i;
    }
  }
}

TEST(BucketModelTest, GoldenBound) {
  constexpr double kBounds[] = {0.170, 115.120, 1.120};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(least_exposed_after(fixture(), golden_costs()[i], kBackwardEnd) / kModelMs,
                kBounds[i], 0.0005);
  }
}

TEST(BucketModelTest, BucketIsClosedOnceItHasReachedItsLimit) {
  const std::vector<ReadyBytes> gradients = {
      {10, kMiB - 1}, {20, 5}, {30, 4 * kMiB}, {40, kMiB}, {50, 1}, {60, 9 * kMiB}, {70, 3}};
  const auto bytes = [](const std::vector<ReadyBytes>& buckets) {
    std::vector<int64_t> all;
    for (const ReadyBytes& bucket : buckets) all.push_back(bucket.bytes);
    return all;
  };
  const auto buckets = in_buckets(gradients, 5 * kMiB);
  EXPECT_THAT(bytes(buckets), ElementsAre(kMiB + 4, 5 * kMiB, 9 * kMiB + 1, 3));
  EXPECT_EQ(buckets[0].ready_ns, 20);
  EXPECT_EQ(buckets[2].ready_ns, 60);
  EXPECT_THAT(bytes(in_buckets(gradients, std::nullopt)), ElementsAre(15 * kMiB + 8));
  EXPECT_TRUE(in_buckets({}, kMiB).empty());
}

TEST(BucketModelTest, HiddenWhenBackwardGoesOnLongEnough) {
  const std::vector<ReadyBytes> buckets = {{100, 1000}, {200, 1000}};
  EXPECT_EQ(exposed_after(buckets, {10, 0.1}, 10'000), 0);
  EXPECT_DOUBLE_EQ(exposed_after(buckets, {10, 0.1}, 200), 120);
  EXPECT_EQ(exposed_after({}, {10, 0.1}, 200), 0);
}

// Of thousands of random bucketings none exposes less than the bound.
TEST(BucketModelTest, NoBucketingBeatsTheBound) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::vector<ReadyBytes> gradients;
    int64_t at = 0;
    const size_t count = 1 + random() % 12;
    for (size_t i = 0; i < count; ++i) {
      at += static_cast<int64_t>(random() % 1000);
      gradients.push_back({at, static_cast<int64_t>(1 + random() % 5000)});
    }
    std::vector<ReadyBytes> buckets;
    for (const ReadyBytes& gradient : gradients) {
      if (buckets.empty() || random() % 2 == 0) {
        buckets.push_back(gradient);
      } else {
        buckets.back().ready_ns = gradient.ready_ns;
        buckets.back().bytes += gradient.bytes;
      }
    }
    const TransferCost cost{static_cast<double>(random() % 500),
                            static_cast<double>(random() % 100) / 100};
    const int64_t end = at + static_cast<int64_t>(random() % 100);
    EXPECT_GE(exposed_after(buckets, cost, end) + 1e-6, least_exposed_after(gradients, cost, end));
  }
}

}  // namespace
}  // namespace dprof::analyzer
