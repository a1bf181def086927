// SPDX-License-Identifier: Apache-2.0
// Where a series of transfers rises permanently. Whole runs: tests/generated/slow_links_test.cpp.
#include "analyzer/breakdown/slow_links.h"

#include <gtest/gtest.h>

#include <random>

namespace dprof::analyzer {
namespace {

std::vector<double> series(size_t n, size_t at, double factor, double noise, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (size_t i = 0; i < n; ++i)
    values.push_back(1e6 * (i < at ? 1 : factor) * (1 + noise * normal(random)));
  return values;
}

TEST(LastingRiseTest, IsFoundWhereItIs) {
  for (const size_t at : {20U, 50U, 80U}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const auto rise = lasting_rise(series(100, at, 1.5, 0.01, seed), 8);
      ASSERT_TRUE(rise) << at;
      EXPECT_EQ(rise->at, at);
      EXPECT_NEAR(rise->after / rise->before, 1.5, 0.03);
    }
  }
}

TEST(LastingRiseTest, NoiseSpikesDriftAndFallsAreNone) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    EXPECT_FALSE(lasting_rise(series(60, 60, 1, 0.2, seed), 8)) << seed;
    std::vector<double> spiky = series(60, 60, 1, 0.02, seed);
    for (size_t i = seed % 7; i < spiky.size(); i += 9) spiky[i] *= 5;
    EXPECT_FALSE(lasting_rise(spiky, 8)) << seed;
  }
  EXPECT_FALSE(lasting_rise(series(100, 50, 0.5, 0.02, 1), 6)) << "it became faster";
  EXPECT_FALSE(lasting_rise(series(100, 50, 1.25, 0.01, 1), 6)) << "by too little";
}

TEST(LastingRiseTest, BothLevelsHaveToLast) {
  EXPECT_FALSE(lasting_rise(series(11, 5, 3, 0.01, 1), 6));
  EXPECT_FALSE(lasting_rise(series(40, 37, 3, 0.01, 1), 6));
  EXPECT_FALSE(lasting_rise(series(40, 4, 3, 0.01, 1), 6));
  EXPECT_FALSE(lasting_rise({}, 6));
}

}  // namespace
}  // namespace dprof::analyzer
