// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/sql_console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dprof::view {
namespace {

using analyzer::SqlBlob;
using analyzer::SqlError;
using analyzer::SqlResult;
using analyzer::SqlValue;
using ::testing::ElementsAre;

void ask(SqlConsole& console, std::string text) {
  console.write(std::move(text));
  console.begin();
}

SqlResult console_result() {
  return {.columns = {{"rank", ""}, {"name", ""}},
          .rows = {{int64_t{0}, std::string("a\tb\nc")}, {int64_t{1}, SqlValue()}},
          .ranks = {0, 1}};
}

TEST(SqlConsole, TheHistoryIsWalkedAndWhatWasBeingWrittenStaysBehindIt) {
  SqlConsole console;
  EXPECT_FALSE(console.walk_history(-1));
  ask(console, "one");
  ask(console, "two");
  ask(console, "one");
  EXPECT_THAT(console.history(), ElementsAre("two", "one")) << "each once, the last one at the end";
  console.write("thr");
  EXPECT_TRUE(console.walk_history(-1));
  EXPECT_EQ(console.text(), "one");
  EXPECT_TRUE(console.walk_history(-1));
  EXPECT_EQ(console.text(), "two");
  EXPECT_FALSE(console.walk_history(-1));
  EXPECT_TRUE(console.walk_history(1));
  EXPECT_TRUE(console.walk_history(1));
  EXPECT_EQ(console.text(), "thr");
  EXPECT_FALSE(console.walk_history(1));
  ask(console, "  ");
  EXPECT_THAT(console.history(), ElementsAre("two", "one"));
}

TEST(SqlConsole, TheHistoryHasAnEnd) {
  SqlConsole console;
  for (size_t i = 0; i < kMostRemembered + 5; ++i) ask(console, std::to_string(i));
  EXPECT_EQ(console.history().size(), kMostRemembered);
  EXPECT_EQ(console.history().front(), "5");
  SqlConsole restored;
  restored.restore("x", std::vector<std::string>(kMostRemembered + 1, "y"));
  EXPECT_EQ(restored.history().size(), kMostRemembered);
}

TEST(SqlConsole, AnErrorLeavesTheLastResult) {
  SqlConsole console;
  ask(console, "good");
  EXPECT_TRUE(console.is_asking());
  console.take(console_result(), DurationNs{5});
  EXPECT_FALSE(console.is_asking());
  ASSERT_NE(console.result(), nullptr);
  const SharedSqlResult first = console.result();
  ask(console, "bad");
  console.take(SqlError{{Code::kUsage, "no", ""}, 3}, DurationNs{1});
  EXPECT_EQ(console.result(), first);
  EXPECT_EQ(console.result_text(), "good");
  EXPECT_EQ(console.error_text(), "bad");
  console.grow_stale();
  EXPECT_TRUE(console.is_stale());
  ask(console, "good");
  console.take(console_result(), DurationNs{5});
  EXPECT_FALSE(console.error());
  EXPECT_FALSE(console.is_stale());
}

TEST(SqlConsole, CellsAndTitlesAreOneLine) {
  EXPECT_EQ(cell_text(SqlValue()), "NULL");
  EXPECT_EQ(cell_text(int64_t{-12}), "-12");
  EXPECT_EQ(cell_text(0.5), "0.5");
  EXPECT_EQ(cell_text(std::string("a\nb\x01")), "a b?");
  EXPECT_EQ(cell_text(SqlBlob{12}), "blob, 12 B");
  const std::string cut = cell_text(std::string(499, 'x') + "äää");
  EXPECT_TRUE(cut.ends_with("x…")) << "no half letters: " << cut.substr(490);
  EXPECT_EQ(result_as_text(console_result()), "rank\tname\n0\ta b c\n1\t\n");
  EXPECT_EQ(title_of_statement("  -- long kernels \nSELECT 1"), "long kernels");
  EXPECT_EQ(title_of_statement("SELECT\n   a, b"), "SELECT a, b");
  EXPECT_EQ(title_of_statement(std::string(50, 'a')), std::string(40, 'a') + "…");
}

}  // namespace
}  // namespace dprof::view
