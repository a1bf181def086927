// SPDX-License-Identifier: Apache-2.0
#include "base/format.h"

#include <gtest/gtest.h>

namespace dprof {
namespace {

TEST(FormatTest, DurationsHaveThreeDigitsAndAFittingUnit) {
  EXPECT_EQ(format_duration({46'200'000}), "46.2 ms");
  EXPECT_EQ(format_duration({1'600'000'000}), "1.60 s");
  EXPECT_EQ(format_duration({812}), "812 ns");
  EXPECT_EQ(format_duration({0}), "0 ns");
  EXPECT_EQ(format_duration({-2'500}), "-2.50 µs");
  EXPECT_EQ(format_duration({999'960}), "1.00 ms");
}

TEST(FormatTest, BytesCountsAndShares) {
  EXPECT_EQ(format_bytes(25'000'000), "25.0 MB");
  EXPECT_EQ(format_bytes(12), "12 B");
  EXPECT_EQ(format_count(4812331), "4,812,331");
  EXPECT_EQ(format_count(-1000), "-1,000");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_share(0.004), "0.4 %");
  EXPECT_EQ(format_share(0.151), "15 %");
  EXPECT_EQ(format_ms({139'400'000}), "139.4 ms");
}

}  // namespace
}  // namespace dprof
