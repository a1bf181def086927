// SPDX-License-Identifier: Apache-2.0
// A query's result on the timeline: times, lanes, rows, and what a click in them shows.
#include "gui/view/model/result_track.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/accessible.h"
#include "gui/view/draw_session.h"
#include "gui/view/model/test_support/test_model.h"
#include "gui/view/session/session.h"
#include "gui/view/timeline/timeline_view.h"

namespace dprof::view {
namespace {

using analyzer::SqlResult;
using analyzer::SqlValue;
using test::kMs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

// Three lines of rank 0, two of them overlapping, and one of rank 2 that names an event.
SqlResult some_result() {
  const auto line = [](int64_t rank, SqlValue id, SqlValue start, SqlValue length,
                       const char* name) {
    return std::vector<SqlValue>{rank, std::move(id), std::move(start), std::move(length),
                                 std::string(name)};
  };
  return {
      .columns =
          {{"rank", ""}, {"id", "host_range"}, {"start_ns", ""}, {"duration_ns", ""}, {"name", ""}},
      .rows = {line(0, {}, 20 * kMs, 30 * kMs, "late"), line(0, {}, 10 * kMs, 20 * kMs, "early"),
               line(0, {}, 50 * kMs, {}, "open"), line(0, {}, {}, 5 * kMs, "never"),
               line(2, int64_t{12}, 100 * kMs, 40 * kMs, "input")},
      .ranks = {0, 1, 2}};
}

class ResultTrackTest : public ::testing::Test {
 protected:
  ResultTrackTest() {
    session.open(test::shared_small_model());
    session.viewport.show_all();
  }
  void take(SqlResult result, std::string text = "-- my lines\nSELECT") {
    session.sql.write(std::move(text));
    session.sql.begin();
    session.sql.take(std::move(result), {});
  }
  [[nodiscard]] std::vector<const Row*> track_rows() const {
    std::vector<const Row*> rows;
    for (const Row& row : session.tracks.layout().rows) {
      if (row.track.find("/sql:") != std::string::npos) rows.push_back(&row);
    }
    return rows;
  }
  // The slice at a moment of a row.
  [[nodiscard]] Hit hit(const Row& row, int depth, int64_t ns) const {
    return hit_test(session.model(), session.tracks.layout(), session.viewport.scale(),
                    session.viewport.scale().pixel_of(TraceNs{ns}), row.y + depth_top(depth) + 2);
  }

  FixedTextMeasure measure;
  Session session;
};

TEST_F(ResultTrackTest, TimesComeToTheRunsAxis) {
  Model model = test::small_model();
  model.run.traces[2].shift_ns = 5 * kMs;
  model.ranks[2].clock = analyzer::ClockMap({{.local = TraceNs{0}, .offset_ns = -2 * kMs}});
  const SqlResult result = some_result();
  const TimeColumns columns = *time_columns(result);
  const auto span = [&](size_t line) { return span_of_line(model, result, columns, line); };
  EXPECT_EQ(span(4)->begin, TraceNs{107 * kMs});
  EXPECT_EQ(span(4)->length(), DurationNs{40 * kMs});
  EXPECT_EQ(span(0)->begin, TraceNs{20 * kMs});
  EXPECT_EQ(span(2)->end, model.span.end) << "nothing ended it";
  EXPECT_FALSE(span(3));
}

TEST_F(ResultTrackTest, TimesAreKnownByTheirNames) {
  const auto columns_of = [](std::vector<std::string> names) {
    SqlResult result{.columns = {{"rank", ""}}};
    for (std::string& name : names) result.columns.push_back({std::move(name), ""});
    return time_columns(result);
  };
  EXPECT_FALSE(columns_of({"id", "duration_ns"}));
  const auto perfetto = columns_of({"label", "dur", "ts"});
  ASSERT_TRUE(perfetto);
  EXPECT_EQ(perfetto->start, 3U);
  EXPECT_EQ(perfetto->duration, 2U);
  EXPECT_EQ(perfetto->name, 1U);
  const auto step = columns_of({"start_ns", "end_ns"});
  EXPECT_EQ(step->end, 2U);
  EXPECT_EQ(columns_of({"start_ns", "end_ns", "duration_ns"})->end, std::nullopt);
}

TEST_F(ResultTrackTest, WhateverNumbersAStatementMakesNothingOverflows) {
  SqlResult wild{.columns = {{"rank", ""}, {"ts", ""}, {"dur", ""}}, .ranks = {0}};
  for (const SqlValue& ts : {SqlValue(INT64_MAX), SqlValue(INT64_MIN), SqlValue(1e300),
                             SqlValue(-0.5), SqlValue(std::string("x")), SqlValue()}) {
    for (const SqlValue& dur : {SqlValue(INT64_MAX), SqlValue(INT64_MIN), SqlValue(-1e300)})
      wild.rows.push_back({int64_t{0}, ts, dur});
  }
  take(std::move(wild));
  ASSERT_TRUE(session.sql_results.make_track().ok());
  EXPECT_FALSE(draw_rows(session, 800, 600, measure).commands().empty());
  EXPECT_EQ(track_rows().front()->note, "6 without a time");
}

TEST_F(ResultTrackTest, ATrackHasLanesForWhatOverlaps) {
  take(some_result());
  ASSERT_TRUE(session.sql_results.make_track().ok());
  EXPECT_TRUE(session.sql_results.has_track());
  const std::vector<const Row*> rows = track_rows();
  ASSERT_EQ(rows.size(), 2U) << "rank 1 has no lines";
  EXPECT_EQ(rows[0]->track, "rank:0/sql:my_lines");
  EXPECT_EQ(rows[0]->label, "sql: my lines");
  EXPECT_EQ(rows[0]->depths, 2);
  EXPECT_EQ(rows[0]->note, "1 without a time");
  EXPECT_EQ(rows[1]->depths, 1);
  const std::string drawn = to_text(draw_rows(session, 1200, 2000, measure));
  for (const char* line : {"row:0/sql/0", "row:0/sql/1", "row:0/sql/2", "row:2/sql/4"})
    EXPECT_THAT(drawn, HasSubstr(line)) << "nothing is dropped";
  const int64_t events = session.model().slices();
  EXPECT_EQ(events, 3 * 3 * 5) << "lines of a result are no events";
  EXPECT_THAT(to_text(draw_tracks(session, 300, 2000, measure)), HasSubstr("sql: my lines"));
}

TEST_F(ResultTrackTest, ATrackIsNamedByItsStatement) {
  const auto track_of = [&](std::string text) {
    take(some_result(), std::move(text));
    EXPECT_TRUE(session.sql_results.make_track().ok());
    std::string track = track_rows()[0]->track;
    session.sql_results.remove_track();
    return track;
  };
  EXPECT_EQ(track_of("SELECT * FROM step"), "rank:0/sql:select_from_step");
  EXPECT_EQ(track_of("-- Über 1/2 *\nSELECT"), "rank:0/sql:Über_1_2");
  EXPECT_EQ(track_of("SELECT " + std::string(60, 'a')),
            "rank:0/sql:select_" + std::string(33, 'a'));
}

TEST_F(ResultTrackTest, SlicesAreHitAndTellTheirFields) {
  take(some_result());
  ASSERT_TRUE(session.sql_results.make_track().ok());
  const Row row = *track_rows()[0];
  const Hit early = hit(row, 0, 15 * kMs);
  ASSERT_TRUE(early.slice);
  EXPECT_EQ(name_of(session.model(), *early.slice), "early");
  const Hit late = hit(row, 1, 45 * kMs);
  ASSERT_TRUE(late.slice);
  const auto line = result_line_of(session.model(), *late.slice);
  ASSERT_TRUE(line);
  EXPECT_THAT(fields_of_line(*line),
              ElementsAre(Pair("rank", "0"), Pair("id", "NULL"), Pair("start_ns", "20000000"),
                          Pair("duration_ns", "30000000"), Pair("name", "late")));
  session.tracks.set_hover(Hover{.at = {5, 5}, .slice = late.slice, .rank_index = 0});
  EXPECT_THAT(to_text(draw_overlay(session, 1200, 800, measure)), HasSubstr("start_ns: 20000000"));
  session.selecting.click(late);
  EXPECT_EQ(session.selecting.selection().track, "rank:0/sql:my_lines");
  EXPECT_THAT(selectors_of(session.model(), session.selecting.selection()),
              ElementsAre("step:0", "range:20000000ns..50000000ns", "rank:0/sql:my_lines"))
      << "it names no row: its time stays";
  session.selecting.click(hit(*track_rows()[1], 0, 110 * kMs));
  EXPECT_THAT(selectors_of(session.model(), session.selecting.selection()),
              ElementsAre("step:1", "row:2/host_range/12", "rank:2/sql:my_lines"));
  const auto index = static_cast<size_t>(track_rows()[0] - session.tracks.layout().rows.data());
  EXPECT_EQ(accessible_row(rows_area(session), session.selecting.selection(), index, 100).name,
            "rank 0, my lines");
  EXPECT_THAT(accessible_value(rows_area(session), index), HasSubstr("3 events"));
}

TEST_F(ResultTrackTest, TracksArePinnedHiddenAndRemoved) {
  take(some_result());
  ASSERT_TRUE(session.sql_results.make_track().ok());
  ASSERT_TRUE(session.selecting.select("rank:0/sql:my_lines").ok());
  EXPECT_EQ(view::track_pattern_of(session.model(), session.selecting.selection()),
            "rank:*/sql:my_lines");
  session.tracks.pin({view::track_pattern_of(session.model(), session.selecting.selection())});
  EXPECT_EQ(track_rows().size(), 4U) << "two of them on top";
  EXPECT_TRUE(track_rows().front()->pinned);
  session.tracks.pin({view::track_pattern_of(session.model(), session.selecting.selection())});
  session.tracks.hide({"rank:0/sql:my_lines"});
  EXPECT_EQ(track_rows().size(), 1U);
  session.tracks.show_hidden();
  take(some_result());
  ASSERT_TRUE(session.sql_results.make_track().ok());
  EXPECT_EQ(track_rows().size(), 4U) << "another result, another track";
  EXPECT_EQ(track_rows()[1]->track, "rank:0/sql:my_lines_2");
  ASSERT_TRUE(session.selecting.select("rank:0/sql:my_lines").ok());
  session.sql_results.remove_tracks();
  ASSERT_EQ(track_rows().size(), 2U);
  EXPECT_EQ(track_rows()[0]->track, "rank:0/sql:my_lines_2");
  session.selecting.click(hit(*track_rows()[0], 0, 15 * kMs));
  ASSERT_TRUE(session.selecting.selection().slice);
  session.sql_results.remove_track();
  EXPECT_TRUE(track_rows().empty());
  EXPECT_FALSE(session.selecting.selection().slice) << "it is gone with its track";
}

TEST_F(ResultTrackTest, TheyStayWhereARankIsFoldedAndItsEventsAreGivenUp) {
  take(some_result());
  ASSERT_TRUE(session.sql_results.make_track().ok());
  const size_t before = track_rows().size();
  session.tracks.toggle(*session.tracks.layout().of_rank(0));
  const SharedEvents events = session.model().ranks[0].events;
  session.take_events(0, std::make_shared<const RankEvents>());
  ASSERT_EQ(track_rows().size(), before);
  session.selecting.click(hit(*track_rows()[0], 0, 15 * kMs));
  ASSERT_TRUE(session.selecting.selection().slice);
  session.take_events(0, events);
  ASSERT_TRUE(session.selecting.selection().slice) << "the selection stays";
  EXPECT_EQ(name_of(session.model(), *session.selecting.selection().slice), "early");
  session.tracks.pin({"rank:*/sql:my_lines"});
  session.selecting.clear();
  while (session.tracks.layout().of_rank(2)->folded == false)
    session.tracks.toggle(*session.tracks.layout().of_rank(2));
  EXPECT_THAT(session.looked_at(), Not(Contains(2U))) << "a result needs no events";
}

TEST_F(ResultTrackTest, ARunThatIsReadAgainKeepsThemAndSaysThatTheyAreOld) {
  take(some_result());
  ASSERT_TRUE(session.sql_results.make_track().ok());
  session.renew(test::shared_small_model());
  ASSERT_EQ(track_rows().size(), 2U);
  EXPECT_EQ(track_rows()[0]->note, "older, 1 without a time");
  EXPECT_EQ(track_rows()[1]->note, "older, 1 without a time");
  session.renew(test::shared_small_model());
  EXPECT_EQ(track_rows()[0]->note, "older, 1 without a time") << "once is enough";
  EXPECT_TRUE(session.sql.is_stale());
  session.open(session.shared_model());
  EXPECT_TRUE(track_rows().empty());
  EXPECT_EQ(session.sql.result(), nullptr);
}

TEST_F(ResultTrackTest, WithoutTimesThereIsNoTrack) {
  const auto refused = session.sql_results.make_track();
  EXPECT_FALSE(refused.ok()) << "there is no result";
  take({.columns = {{"rank", ""}, {"n", ""}}, .rows = {{int64_t{0}, int64_t{3}}}, .ranks = {0}});
  EXPECT_THAT(session.sql_results.make_track().error().hint, HasSubstr("start_ns"));
  EXPECT_FALSE(session.sql_results.has_track());
}

TEST_F(ResultTrackTest, ALineShowsTheRowThatItNamesElseItsTime) {
  take(some_result());
  session.sql_results.choose_line(4);
  ASSERT_TRUE(session.selecting.selection().slice);
  EXPECT_EQ(selector_of(session.model(), *session.selecting.selection().slice),
            "row:2/host_range/12");
  session.sql_results.choose_line(0);
  EXPECT_FALSE(session.selecting.selection().slice);
  EXPECT_EQ(session.selecting.selection().range, (Interval{TraceNs{20 * kMs}, TraceNs{50 * kMs}}));
  EXPECT_THAT(session.selecting.selection().ranks, ElementsAre(0));
  session.sql_results.choose_line(3);
  EXPECT_FALSE(session.selecting.selection().range) << "it has no time: its rank alone";
  EXPECT_EQ(session.sql.line(), 3U);
  EXPECT_TRUE(session.sql_results.next_line(1));
  EXPECT_FALSE(session.sql_results.next_line(1));
  EXPECT_EQ(session.sql.line(), 4U);
  SqlResult gone = some_result();
  gone.rows[4][1] = int64_t{999'999};
  take(std::move(gone));
  session.sql_results.choose_line(4);
  EXPECT_THAT(session.selecting.selection().ranks, ElementsAre(2));
  EXPECT_TRUE(session.selecting.selection().range) << "no such row: its time";
}

// A result is not a thread: losses of a thread with the same number do not affect it.
TEST_F(ResultTrackTest, LossesOfThreadsAreNotMarkedOnIt) {
  Model model = test::small_model();
  analyzer::RankLanes lanes = model.ranks[0].lanes();
  lanes.losses = {{.span = {TraceNs{20 * kMs}, TraceNs{190 * kMs}},
                   .thread_id = 1,
                   .reason = schema::LossReason::kRingFull,
                   .count = 7}};
  model.ranks[0].events = std::make_shared<const RankEvents>(std::move(lanes));
  session.open(std::make_shared<const Model>(std::move(model)));
  session.viewport.show_all();
  const auto hatched = [&] {
    int count = 0;
    const DrawList list = draw_rows(session, 1000, 1000, measure);
    for (const Command& command : list.commands())
      count += command.kind == CommandKind::kHatch && command.role == Role::kProblem ? 1 : 0;
    return count;
  };
  const int before = hatched();
  EXPECT_GT(before, 0);
  take(some_result());
  ASSERT_TRUE(session.sql_results.make_track().ok());
  ASSERT_FALSE(track_rows().empty());
  EXPECT_EQ(hatched(), before);
}

}  // namespace
}  // namespace dprof::view
