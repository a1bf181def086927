// SPDX-License-Identifier: Apache-2.0
#include "base/log_histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/stats.h"

namespace dprof {
namespace {

TEST(LogHistogramTest, NothingHasNoQuantile) {
  const LogHistogram none;
  EXPECT_EQ(none.count(), 0);
  EXPECT_EQ(none.quantile(0.5), 0);
}

TEST(LogHistogramTest, SmallValuesAreExact) {
  LogHistogram histogram;
  for (int64_t v = 0; v < 128; ++v) histogram.add(v);
  EXPECT_EQ(histogram.quantile(0), 0);
  EXPECT_EQ(histogram.quantile(0.5), 63);
  EXPECT_EQ(histogram.quantile(1), 127);
}

TEST(LogHistogramTest, AnyValueIsWithinOnePercent) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = static_cast<int64_t>(random() >> (1 + random() % 63));
    LogHistogram histogram;
    histogram.add(value);
    const auto exact = static_cast<double>(value);
    EXPECT_NEAR(histogram.quantile(0.5), exact, 0.008 * exact) << value;
  }
  LogHistogram ends;
  ends.add(std::numeric_limits<int64_t>::max());
  ends.add(-5);
  EXPECT_EQ(ends.quantile(0), 0);
  EXPECT_NEAR(ends.quantile(1) / std::pow(2.0, 63), 1, 0.01);
}

TEST(LogHistogramTest, QuantilesAreThoseOfTheValues) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> lengths(11, 0.7);
  std::vector<double> values;
  LogHistogram histogram;
  for (int i = 0; i < 20'001; ++i) {
    const auto value = static_cast<int64_t>(lengths(random));
    values.push_back(static_cast<double>(value));
    histogram.add(value);
  }
  for (const double q : {0.05, 0.25, 0.5, 0.75, 0.95}) {
    const double exact = quantile(values, q);
    EXPECT_NEAR(histogram.quantile(q), exact, 0.016 * exact) << q;
  }
}

TEST(LogHistogramTest, MergedIsAsIfAddedToOne) {
  std::mt19937_64 random(5);
  LogHistogram all;
  LogHistogram a;
  LogHistogram b;
  for (int i = 0; i < 3000; ++i) {
    const auto value = static_cast<int64_t>(random() >> (20 + random() % 40));
    all.add(value);
    (i % 3 == 0 ? a : b).add(value);
  }
  LogHistogram merged = a;
  merged.merge(b);
  merged.merge({});
  EXPECT_EQ(merged, all);
  LogHistogram other_way = b;
  other_way.merge(a);
  EXPECT_EQ(other_way, all);
}

TEST(LogHistogramTest, ComesBackFromItsCounts) {
  LogHistogram histogram;
  for (const int64_t value : {90, 1000, 1010, 5'000'000}) histogram.add(value);
  const LogHistogram again(histogram.first(),
                           {histogram.counts().begin(), histogram.counts().end()});
  EXPECT_EQ(again, histogram);
}

}  // namespace
}  // namespace dprof
