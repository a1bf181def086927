// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_name.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace dprof {
namespace {

constexpr std::array<std::string_view, 4> kNames{"record", "report", "recover", "gui"};

TEST(NearestNameTest, ForgivesAMistakeInThreeLetters) {
  EXPECT_EQ(nearest_name("reprot", kNames), "report");
  EXPECT_EQ(nearest_name("recrod", kNames), "record");
  EXPECT_EQ(nearest_name("recovr", kNames), "recover");
  EXPECT_EQ(nearest_name("reportt", kNames), "report");
  EXPECT_EQ(nearest_name("giu", kNames), "gui");
}

TEST(NearestNameTest, NonsenseIsNearNothing) {
  for (const char* nonsense : {"", "x", "run", "train.py", "frobnicate"}) {
    EXPECT_EQ(nearest_name(nonsense, kNames), std::nullopt) << nonsense;
  }
  EXPECT_EQ(nearest_name(std::string(1'000'000, 'r'), kNames), std::nullopt);
  EXPECT_EQ(nearest_name("report", {}), std::nullopt);
}

}  // namespace
}  // namespace dprof
