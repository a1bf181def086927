// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/names.h"

#include <gtest/gtest.h>

#include "gui/view/model/test_support/test_model.h"

namespace dprof::view {
namespace {

TEST(Names, WithoutAStarTheWholeNameCounts) {
  EXPECT_TRUE(name_matches("aten::mm", "aten::mm"));
  EXPECT_FALSE(name_matches("aten::mm", "aten::mm_out"));
  EXPECT_FALSE(name_matches("aten::mm", "an aten::mm"));
  EXPECT_TRUE(name_matches("", ""));
  EXPECT_FALSE(name_matches("", "a"));
}

TEST(Names, AStarStandsForAnything) {
  EXPECT_TRUE(name_matches("nccl*_Sum", "ncclDevKernel_AllReduce_Sum"));
  EXPECT_TRUE(name_matches("*", ""));
  EXPECT_TRUE(name_matches("*a*b*", "xxaxxbxx"));
  EXPECT_TRUE(name_matches("*ab", "aab")) << "the star has to give letters back";
  EXPECT_FALSE(name_matches("*a*b", "xxaxxbxx"));
  EXPECT_FALSE(name_matches("*all*", "ALL"));
}

TEST(Names, OfARankByPosition) {
  const Model model = test::small_model();
  EXPECT_EQ(matching_names(model.ranks[0].lanes().names, "*p*t*"),
            (std::vector<uint8_t>{0, 1, 0, 1, 0}));
  EXPECT_TRUE(any_name_matches(model, "forward"));
  EXPECT_FALSE(any_name_matches(model, "backward"));
}

}  // namespace
}  // namespace dprof::view
