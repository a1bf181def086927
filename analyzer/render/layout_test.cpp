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
  EXPECT_EQ(display_width(Painter(true)(Style::kBad, "µs")), 2u);
  EXPECT_EQ(Painter(false)(Style::kBad, "µs"), "µs");
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

TEST(Layout, TablesAlignAndEndWithoutBlanks) {
  TextTable table;
  table.add_column("name", TextTable::Align::kLeft);
  table.add_column("n", TextTable::Align::kRight);
  table.add_column("", TextTable::Align::kLeft);
  table.add_row({"µ", "1", ""});
  table.add_row({"all_reduce", "1,234", "mark"});
  EXPECT_EQ(table.render(1, Painter(false)),
            " name            n\n"
            " µ               1\n"
            " all_reduce  1,234  mark\n");
  EXPECT_EQ(table.width(), 23u);
}

TEST(Layout, TrailingBlanksGoAlsoBeforeAColourEnds) {
  EXPECT_EQ(without_trailing_blanks("a  \n\x1b[1mb \x1b[0m\n"), "a\n\x1b[1mb\x1b[0m\n");
}

}  // namespace
}  // namespace dprof::analyzer
