// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;

TEST(Layout, WidthCountsCharactersAndNoEscapes) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("±14 µs ██"), 9u);
  EXPECT_EQ(display_width("\x1b[1;31mµs\x1b[0m"), 2u);
}

TEST(Layout, PrintableLeavesNothingThatSteersATerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\x07"), "a?[2Jb?");
  EXPECT_EQ(printable("two\nlines\t"), "two lines ");
  EXPECT_EQ(printable("µ → 漢"), "µ → 漢");
  EXPECT_EQ(printable("caf\xe9"), "caf?");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m")
      << "C1 control characters";
}

TEST(Layout, WrapsAtBlanks) {
  EXPECT_THAT(wrapped("one two three four", 9), ElementsAre("one two", "three", "four"));
  EXPECT_THAT(wrapped("unbreakable word", 5), ElementsAre("unbreakable", "word"));
  EXPECT_THAT(wrapped("", 5), ElementsAre(""));
  EXPECT_THAT(wrapped("it takes 30.3 ms ± 0.1 ms; so", 18),
              ElementsAre("it takes", "30.3 ms ± 0.1 ms;", "so"));
}

struct BarCase {
  double share;
  const char* want;
};

TEST(Layout, BarsGoByEighths) {
  for (const BarCase& c :
       {BarCase{1, "████"}, BarCase{0.5, "██"}, BarCase{0.53125, "██▏"}, BarCase{0.7, "██▊"},
        BarCase{0.0001, "▏"}, BarCase{0, ""}, BarCase{7, "████"}}) {
    EXPECT_EQ(bar(c.share, 4), c.want) << c.share;
  }
}

TEST(Layout, RanksAreListedAsRuns) {
  EXPECT_EQ(rank_list({3}), "3");
  EXPECT_EQ(rank_list({1, 0}), "0, 1");
  EXPECT_EQ(rank_list({7, 0, 1, 2, 5}), "0–2, 5, 7");
  EXPECT_EQ(rank_list({}), "");
}

TEST(Layout, ABarKnowsItsEighths) {
  for (const size_t eighths : {1U, 7U, 8U, 13U, 80U})
    EXPECT_EQ(eighths_of_bar(bar(static_cast<double>(eighths) / 80, 10)), eighths);
  for (const char* text : {"", "3.1", "█ ", "–", "\xE2\x96"}) EXPECT_EQ(eighths_of_bar(text), 0U);
}

}  // namespace
}  // namespace dprof::analyzer
