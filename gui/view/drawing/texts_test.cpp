// SPDX-License-Identifier: Apache-2.0
#include "gui/view/drawing/texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dprof::view {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TextsTest : public ::testing::Test {
 protected:
  ~TextsTest() override { install_texts({}); }
};

TEST_F(TextsTest, EnglishIsItself) {
  constexpr std::string_view kTitle = english("Matrix");
  EXPECT_EQ(translated(kTitle).data(), kTitle.data()) << "no copy";
  EXPECT_EQ(say("wall"), "wall");
  EXPECT_EQ(say("{} of {} ranks", 3, "8"), "3 of 8 ranks");
  EXPECT_EQ(say_count(1, "{} rank", "{} ranks", 1), "1 rank");
  EXPECT_EQ(say_count(0, "{} rank", "{} ranks", 0), "0 ranks");
}

TEST_F(TextsTest, AnotherLanguageTakesItsOrderOfWords) {
  EXPECT_THAT(install_texts({{"Matrix", "Tafel"},
                             {"wall", "gesamt"},
                             {"{} of {} ranks", "von {1} Rängen {0}"},
                             {"{} rank", "ein Rang ({})"},
                             {"{} ranks", "{} Ränge"}}),
              IsEmpty());
  EXPECT_EQ(translated(english("Matrix")), "Tafel");
  EXPECT_EQ(say("wall"), "gesamt");
  EXPECT_EQ(say("{} of {} ranks", 3, 8), "von 8 Rängen 3");
  EXPECT_EQ(say_count(1, "{} rank", "{} ranks", 1), "ein Rang (1)");
  EXPECT_EQ(say_count(2, "{} rank", "{} ranks", 2), "2 Ränge");
  EXPECT_EQ(say("mean"), "mean") << "not translated";
  install_texts({});
  EXPECT_EQ(say("wall"), "wall");
}

// A figure that a translation omitted would be missing without notice.
TEST_F(TextsTest, TranslationsWithOtherPlaceholdersArePassedOver) {
  EXPECT_THAT(install_texts({{"{} lost", "verloren"},
                             {"{} of {} ranks", "{} Ränge"},
                             {"{} rank", "{} Rang von {}"},
                             {"{} ranks", "{ Ränge"},
                             {"%1 events copied", "Ereignisse kopiert"},
                             {"saved %1", "%1 gesichert"}}),
              ElementsAre("%1 events copied", "{} lost", "{} of {} ranks", "{} rank", "{} ranks"));
  EXPECT_EQ(say("{} lost", 7), "7 lost");
  EXPECT_EQ(translated("saved %1"), "%1 gesichert");
}

TEST_F(TextsTest, ATranslationThatCannotBeFormattedIsNone) {
  EXPECT_THAT(install_texts({{"clock ± {}", "Uhr ± {:d}"}}), IsEmpty());
  EXPECT_EQ(say("clock ± {}", "14 µs"), "clock ± 14 µs");
}

}  // namespace
}  // namespace dprof::view
