// SPDX-License-Identifier: Apache-2.0
// What the dock SQL shows, and the effects of clicks in it.
#include "gui/view/docks/sql_dock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/model/result_track.h"
#include "gui/view/model/test_support/test_model.h"
#include "gui/view/session/session.h"

namespace dprof::view {
namespace {

using analyzer::SqlError;
using analyzer::SqlResult;
using analyzer::SqlValue;
using test::kMs;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kSqlWidth = 1200;
constexpr int kSqlHeight = 300;

class SqlDockTest : public ::testing::Test {
 protected:
  SqlDockTest() {
    session.open(test::shared_small_model());
    session.selecting.clear();
    session.viewport.show_all();
  }
  void answer(analyzer::SqlAnswer with, std::string text = "SELECT") {
    session.sql.write(std::move(text));
    session.sql.begin();
    session.sql.take(std::move(with), DurationNs{12 * kMs});
  }
  static SqlResult result_of(size_t lines) {
    SqlResult result{.columns = {{"rank", ""}, {"id", "host_range"}, {"name", ""}, {"none", ""}},
                     .ranks = {0, 1}};
    for (size_t i = 0; i < lines; ++i) {
      result.rows.push_back({int64_t{i < lines / 2 ? 0 : 1}, static_cast<int64_t>(i % 20) + 1,
                             std::string("event ") + std::to_string(i), SqlValue()});
    }
    return result;
  }
  [[nodiscard]] Panel panel(int top = 0) {
    return draw_sql_dock(session.sql, session.sql_results, session.selecting.selection(), kSqlWidth,
                         kSqlHeight, top, measure);
  }
  [[nodiscard]] std::string text(int top = 0) { return to_text(panel(top).list); }
  // Follows the first link at a text's place, as the pane does.
  bool click(std::string_view on) {
    const Panel drawn = panel();
    for (const Command& command : drawn.list.commands()) {
      if (command.kind != CommandKind::kText || drawn.list.text_of(command) != on) continue;
      for (const Link& link : drawn.links) {
        if (!link.box.contains(command.box.x + 2, command.box.y + 4)) continue;
        link.follow();
        return true;
      }
    }
    return false;
  }

  FixedTextMeasure measure;
  Session session;
};

TEST_F(SqlDockTest, ItSaysWhatItIsFor) { EXPECT_THAT(text(), HasSubstr("run on each rank")); }

TEST_F(SqlDockTest, RowsOfRanksAndHowLongItTook) {
  answer(result_of(4));
  EXPECT_THAT(text(), HasSubstr("4 rows of 2 ranks · 12.0 ms"));
  EXPECT_THAT(text(), HasSubstr("event 3"));
  EXPECT_THAT(text(), HasSubstr("NULL"));
  SqlResult partial = result_of(1);
  partial.ranks = {0};
  partial.more = true;
  partial.left_out = {{1, "file is gone"}, {2, "file is gone"}};
  answer(std::move(partial));
  EXPECT_THAT(text(), HasSubstr("first 1 of more rows of 1 rank"));
  EXPECT_THAT(text(), HasSubstr("without ranks 1, 2: file is gone"));
  SqlResult poor = result_of(1);
  for (int rank = 1; rank < 9; ++rank)
    poor.left_out.push_back({rank, "why " + std::to_string(rank)});
  answer(std::move(poor));
  EXPECT_THAT(text(), HasSubstr("without rank 3: why 3 · and without 5 more"));
}

TEST_F(SqlDockTest, OnlyLinesInViewAreDrawn) {
  answer(result_of(10'000));
  const Panel far = panel(100'000);
  EXPECT_LT(far.list.commands().size(), 200U);
  EXPECT_GT(far.height, 10'000 * 20);
  EXPECT_THAT(to_text(far.list), HasSubstr("\"rank\"")) << "the head stays in view";
  EXPECT_THAT(to_text(far.list), HasSubstr("event 4550"));
}

TEST_F(SqlDockTest, ColumnsAreAsWideAsTheirContent) {
  SqlResult result = result_of(1);
  result.columns.push_back({"a very long expression " + std::string(300, 'x'), ""});
  result.rows[0].emplace_back(std::string(300, 'y'));
  answer(std::move(result));
  const Panel wide = panel();
  EXPECT_GT(wide.width, 0);
  EXPECT_LT(wide.width, kSqlWidth + 10) << "within limits";
  EXPECT_THAT(to_text(wide.list), HasSubstr("yyy…"));
}

TEST_F(SqlDockTest, ACellThatNamesARowShowsIt) {
  SqlResult result = result_of(2);
  result.rows[1][1] = int64_t{12};
  answer(std::move(result));
  ASSERT_TRUE(click("12"));
  ASSERT_TRUE(session.selecting.selection().slice);
  EXPECT_EQ(selector_of(session.model(), *session.selecting.selection().slice),
            "row:1/host_range/12");
  EXPECT_EQ(session.sql.line(), 1U);
  ASSERT_TRUE(click("event 0")) << "elsewhere on a line, too";
  EXPECT_EQ(selector_of(session.model(), *session.selecting.selection().slice),
            "row:0/host_range/1");
}

TEST_F(SqlDockTest, AnErrorHasItsPlaceAndTheLastResultStays) {
  answer(result_of(2));
  answer(SqlError{{Code::kUsage, "no such column: strat_ns", ""}, 12}, "SELECT id,\n strat_ns");
  const Panel drawn = panel();
  const std::string shown = to_text(drawn.list);
  EXPECT_THAT(shown, HasSubstr("no such column: strat_ns"));
  EXPECT_THAT(shown, HasSubstr("\" strat_ns\"")) << "its line alone";
  EXPECT_THAT(shown, HasSubstr("event 1"));
  EXPECT_THAT(shown, HasSubstr("of the statement before"));
  const auto caret = std::ranges::find(drawn.list.commands(), CommandKind::kPolyline,
                                       [](const Command& command) { return command.kind; });
  ASSERT_NE(caret, drawn.list.commands().end());
  EXPECT_EQ(drawn.list.points_of(*caret).front().x, 12 + measure.width(" ", Font::kMono));
  EXPECT_EQ(box_of_result_line(session.sql, 1).y - box_of_result_line(session.sql, 0).y, 22);
  ASSERT_TRUE(click("event 1")) << "the result can be used";
}

TEST_F(SqlDockTest, AnErrorFarInALongLineIsInView) {
  answer(SqlError{{Code::kUsage, "near", ""}, 5000}, std::string(5000, 'a') + "HERE");
  EXPECT_THAT(text(), HasSubstr("HERE"));
  answer(SqlError{{Code::kUsage, "incomplete", ""}, 99}, "SELECT");
  EXPECT_THAT(text(), HasSubstr("incomplete")) << "behind the text";
}

TEST_F(SqlDockTest, AllRanksAreAskedOrTheChosenOnes) {
  EXPECT_EQ(session.sql_results.traces_to_ask().size(), 3U);
  EXPECT_THAT(text(), Not(HasSubstr("only")));
  ASSERT_TRUE(session.selecting.select("rank:2").ok());
  EXPECT_EQ(session.sql_results.traces_to_ask().size(), 3U);
  ASSERT_TRUE(click("only rank 2"));
  ASSERT_EQ(session.sql_results.traces_to_ask().size(), 1U);
  EXPECT_EQ(session.sql_results.traces_to_ask()[0].rank, 2);
  session.selecting.clear();
  EXPECT_EQ(session.sql_results.traces_to_ask().size(), 3U) << "nothing is chosen";
}

TEST_F(SqlDockTest, ATrackIsMadeAndRemovedByALink) {
  answer(result_of(2));
  EXPECT_FALSE(click("make a track")) << "it has no times";
  SqlResult timed = result_of(2);
  timed.columns[1] = {"start_ns", ""};
  answer(std::move(timed));
  ASSERT_TRUE(click("make a track"));
  EXPECT_TRUE(session.sql_results.has_track());
  ASSERT_TRUE(click("remove the track"));
  EXPECT_FALSE(session.sql_results.has_track());
}

}  // namespace
}  // namespace dprof::view
