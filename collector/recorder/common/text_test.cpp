// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/common/text.h"

#include <gtest/gtest.h>

namespace dprof::recorder {
namespace {

constexpr char kReplaced[] = "\xEF\xBF\xBD";

TEST(CleanTextTest, KeepsWhatIsValid) {
  for (const char* text : {"", "plain", "t\xC3\xA4t", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    EXPECT_EQ(clean_text(text), text);
  }
}

TEST(CleanTextTest, ReplacesEachByteThatIsNot) {
  const std::string r = kReplaced;
  EXPECT_EQ(clean_text("a\xFFz"), "a" + r + "z");
  EXPECT_EQ(clean_text("\xC3"), r) << "cut in the middle of a character";
  EXPECT_EQ(clean_text("\xC0\x80"), r + r) << "overlong";
  EXPECT_EQ(clean_text("\xED\xA0\x80"), r + r + r) << "surrogate";
  EXPECT_EQ(clean_text("\xF4\x90\x80\x80"), r + r + r + r) << "past the last character";
  EXPECT_EQ(clean_text(std::string_view("a\0b", 3)), "a" + r + "b");
}

}  // namespace
}  // namespace dprof::recorder
