// SPDX-License-Identifier: Apache-2.0
#include "gui/view/drawing/theme.h"

#include <gtest/gtest.h>

#include <set>

namespace dprof::view {
namespace {

class ThemeTest : public ::testing::TestWithParam<const Theme*> {};

// WCAG 2 AA: 4.5 for text.
TEST_P(ThemeTest, TextIsReadable) {
  const Theme& theme = *GetParam();
  for (const Role ground : {Role::kWindow, Role::kCanvas, Role::kCard, Role::kLaneBackground}) {
    for (const Role text :
         {Role::kText, Role::kTextDim, Role::kProblem, Role::kWarnText, Role::kInfoText}) {
      EXPECT_GE(contrast(theme.of(text), theme.of(ground)), 4.5)
          << word_of(text) << " on " << word_of(ground);
    }
  }
  for (const Role text : {Role::kText, Role::kTextDim}) {
    EXPECT_GE(contrast(theme.of(text), theme.of(Role::kAccentSoft)), 4.5) << word_of(text);
  }
  EXPECT_GE(contrast(theme.of(Role::kProblem), theme.of(Role::kAccentSoft)), 3.0);
  EXPECT_GE(contrast(theme.of(Role::kProblem), theme.of(Role::kProblemSoft)), 3.0);
}

TEST_P(ThemeTest, LabelsAreReadableOnEveryCategory) {
  for (size_t i = 0; i < analyzer::kCategories; ++i) {
    const Rgb fill = GetParam()->of(static_cast<Role>(i));
    EXPECT_GE(contrast(label_on(fill), fill), 4.5) << word_of(static_cast<Role>(i));
  }
}

TEST_P(ThemeTest, DataStandsOutFromTheCanvas) {
  using analyzer::Category;
  const Theme& theme = *GetParam();
  for (const Category category :
       {Category::kBackward, Category::kOptimizer, Category::kInputWait}) {
    EXPECT_GE(contrast(theme.of(role_of(category)), theme.of(Role::kCanvas)), 2.5)
        << analyzer::key_of(category);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, ThemeTest, ::testing::Values(&light_theme(), &dark_theme()),
                         [](const auto& test) { return std::string(test.param->name); });

TEST(Theme, ACategoryKeepsItsColourInTheDark) {
  using analyzer::Category;
  for (const Category category : {Category::kForward, Category::kBackward, Category::kOptimizer,
                                  Category::kExposedWait, Category::kInputWait}) {
    EXPECT_EQ(light_theme().of(role_of(category)), dark_theme().of(role_of(category)));
  }
}

TEST(Theme, EveryRoleHasItsOwnWord) {
  std::set<std::string> words;
  for (size_t i = 0; i < kRoles; ++i) words.insert(word_of(static_cast<Role>(i)));
  EXPECT_EQ(words.size(), kRoles);
  EXPECT_FALSE(words.contains(""));
}

TEST(Theme, ContrastIsThatOfWcag) {
  EXPECT_NEAR(contrast({255, 255, 255}, {0, 0, 0}), 21.0, 0.01);
  EXPECT_NEAR(contrast({119, 119, 119}, {255, 255, 255}), 4.48, 0.01);
}

}  // namespace
}  // namespace dprof::view
