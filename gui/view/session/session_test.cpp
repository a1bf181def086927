// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/session.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "gui/view/docks/selection_table.h"
#include "gui/view/figures/collective_times.h"
#include "gui/view/model/test_support/test_model.h"
#include "gui/view/panels.h"
#include "gui/view/state_dump.h"
#include "gui/view/timeline/failure_banner.h"

namespace dprof::view {
namespace {

using test::kMs;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    session.viewport.resize(600, 200);
    session.open(test::shared_small_model());
  }
  Session session;
};

TEST_F(SessionTest, OpensOnTheMostExpensiveFinding) {
  EXPECT_EQ(session.selecting.selection().finding, 0U);
  EXPECT_EQ(session.selecting.selection().step, 1);
  EXPECT_EQ(session.selecting.selection().ranks, std::vector<int>{2});
  EXPECT_EQ(session.selecting.selection().collective, 1U)
      << "that of step 1, for which rank 2 came last";
  EXPECT_TRUE(session.tracks.arrangement().unfolded_ranks.contains(2));
  EXPECT_EQ(selectors_of(session.model(), session.selecting.selection()),
            (std::vector<std::string>{"finding:1", "step:1", "collective:0/all_reduce/1"}));
}

TEST_F(SessionTest, LongEvidenceIsShownInItsMiddle) {
  Model model = test::small_model();
  model.steps.clear();
  for (int64_t step = 0; step < 60; ++step)
    model.steps.push_back({step, {TraceNs{step * 100 * kMs}, TraceNs{(step + 1) * 100 * kMs}}});
  model.report.run.steps->last_steady = 59;
  model.report.findings->front().evidence = {{2, "host_range", {12}, 4000 * kMs, 5500 * kMs}};
  session.open(std::make_shared<const Model>(std::move(model)));
  ASSERT_TRUE(session.selecting.selection().step);
  EXPECT_GE(*session.selecting.selection().step, 40);
  EXPECT_LE(*session.selecting.selection().step, 55);
}

TEST_F(SessionTest, ASmallRunOpensWithAllItsThreads) {
  Session tall;
  tall.viewport.resize(600, 900);
  tall.open(test::shared_small_model());
  EXPECT_EQ(tall.tracks.arrangement().unfolded_ranks, (std::set<int>{0, 1, 2}));
  EXPECT_EQ(session.tracks.arrangement().unfolded_ranks, std::set<int>{2})
      << "where they do not fit";
}

TEST_F(SessionTest, BackUndoesZoomsAsOne) {
  const Interval before = session.viewport.range();
  session.viewport.zoom(300, 1, 2);
  session.viewport.zoom(300, 1, 2);
  EXPECT_LT(session.viewport.range().length().ns, before.length().ns / 3);
  const Interval zoomed = session.viewport.range();
  session.viewport.back();
  EXPECT_EQ(session.viewport.range(), before);
  session.viewport.forward();
  EXPECT_EQ(session.viewport.range(), zoomed);
}

TEST_F(SessionTest, OpensWhereTheCulpritIsSeenWithItsThreads) {
  Session low;
  low.viewport.resize(600, 160);
  low.open(test::shared_small_model());
  ASSERT_EQ(low.selecting.selection().ranks, std::vector<int>{2});
  for (const Row& row : low.tracks.layout().rows) {
    EXPECT_TRUE(row.rank_index != 2 || low.tracks.is_in_view(row)) << row.track;
  }
}

TEST_F(SessionTest, BackAndForwardGoThroughPagesAndFilters) {
  const Interval before = session.viewport.range();
  session.viewport.set_filter("g");
  session.viewport.set_filter("gl");
  session.viewport.show_page(Page::kMemory);
  session.viewport.show_page(Page::kMemory);
  session.viewport.zoom(300, 1, 2);
  session.viewport.back();
  EXPECT_EQ(session.viewport.range(), before);
  EXPECT_EQ(session.viewport.page(), Page::kMemory);
  session.viewport.back();
  EXPECT_EQ(session.viewport.page(), Page::kTimeline);
  EXPECT_EQ(session.tracks.arrangement().filter, "gl");
  session.viewport.back();
  EXPECT_EQ(session.tracks.arrangement().filter, "") << "letters of one word are one step";
  session.viewport.forward();
  session.viewport.forward();
  EXPECT_EQ(session.tracks.arrangement().filter, "gl");
  EXPECT_EQ(session.viewport.page(), Page::kMemory);
}

TEST_F(SessionTest, FocusShowsAndThenFits) {
  ASSERT_TRUE(session.selecting.select("row:0/host_range/3").ok());
  session.viewport.show({TraceNs{200 * kMs}, TraceNs{300 * kMs}});
  session.selecting.focus();
  EXPECT_LE(session.viewport.range().begin.ns, 10 * kMs);
  EXPECT_GE(session.viewport.range().end.ns, 45 * kMs);
  EXPECT_EQ(session.viewport.range().length().ns, 100 * kMs) << "the zoom stays";
  session.selecting.focus();
  EXPECT_NEAR(static_cast<double>(session.viewport.range().length().ns), 35e6 * 1.1, 2.0);
}

TEST_F(SessionTest, FindingsAndStepsFollowEachOther) {
  EXPECT_FALSE(session.walk.next_finding(-1));
  EXPECT_TRUE(session.walk.next_finding(1));
  EXPECT_EQ(session.selecting.selection().finding, 1U);
  EXPECT_FALSE(session.walk.next_finding(1));
  EXPECT_TRUE(session.walk.next_step(1));
  EXPECT_EQ(session.selecting.selection().step, 2);
  EXPECT_FALSE(session.walk.next_step(1));
  EXPECT_EQ(session.selecting.selection().step, 2);
}

TEST_F(SessionTest, ArrivalsAreInTheOrderOfTime) {
  // Ranks 0 and 1 arrive together, rank 2 last.
  for (const int rank : {0, 1, 2}) {
    ASSERT_TRUE(session.walk.next_arrival(1));
    EXPECT_EQ(session.selecting.selection().ranks, std::vector<int>{rank});
    EXPECT_EQ(session.selecting.selection().collective, 1U);
  }
  EXPECT_FALSE(session.walk.next_arrival(1));
  ASSERT_TRUE(session.walk.next_arrival(-1));
  EXPECT_EQ(session.selecting.selection().ranks, std::vector<int>{1});
}

TEST_F(SessionTest, ClicksSelectSlices) {
  session.viewport.show_all();
  session.tracks.scroll_by(-10'000);
  const Row* row = nullptr;
  for (const Row& candidate : session.tracks.layout().rows) {
    if (candidate.track == "rank:2/thread:gloo_worker") row = &candidate;
  }
  ASSERT_NE(row, nullptr);
  const int x = session.viewport.scale().pixel_of(TraceNs{85 * kMs});
  session.selecting.click(hit_test(session.model(), session.tracks.layout(),
                                   session.viewport.scale(), x, row->y + depth_top(0) + 3));
  ASSERT_TRUE(session.selecting.selection().slice);
  EXPECT_EQ(session.selecting.selection().collective, 0U);
  EXPECT_EQ(session.selecting.selection().finding, 0U) << "its rank is the finding's";
  EXPECT_TRUE(session.walk.next_slice(1));
  EXPECT_EQ(session.selecting.selection().slice->slice, 1U);
  session.selecting.click({});
  EXPECT_FALSE(session.selecting.selection().slice);
}

TEST_F(SessionTest, PinnedRowsStayWhereTheyAre) {
  session.tracks.pin({"rank:2"});
  const int fixed = session.tracks.layout().fixed_height;
  ASSERT_EQ(fixed, 2 * kRowHeight);
  session.tracks.scroll_by(40);
  ASSERT_EQ(session.tracks.scroll(), 40);
  const auto at = [&](int y) { return session.tracks.layout().at(session.tracks.layout_y(y)); };
  for (const Row& row : session.tracks.layout().rows) {
    if (!session.tracks.is_in_view(row)) continue;
    const int y = std::max(session.tracks.y_of(row), row.fixed ? 0 : fixed);
    EXPECT_EQ(at(y), &row) << row.track << " is where it is drawn";
  }
  EXPECT_TRUE(at(fixed - 1)->pinned);
  EXPECT_EQ(at(fixed)->track, "rank:0") << "its host's row is scrolled away";
  const Row* first = session.tracks.layout().of_rank(0);
  session.tracks.scroll_by(1000);
  EXPECT_FALSE(session.tracks.is_in_view(*first));
  session.tracks.scroll_to(*first);
  EXPECT_EQ(session.tracks.y_of(*first), fixed) << "not below the pinned ones";
  session.viewport.resize(600, 90);
  EXPECT_EQ(session.tracks.layout().fixed_height, 0) << "half of that is too little";
}

TEST_F(SessionTest, ARankIsDraggedToTheNearestGapOfItsHost) {
  const auto gap = [&](int rank, int y) {
    session.tracks.drag_rank(rank, y);
    EXPECT_TRUE(session.tracks.rank_drop());
    return session.tracks.rank_drop().value_or(RankDrop{});
  };
  const int first = session.tracks.layout().of_rank(0)->y;
  const int second = session.tracks.layout().of_rank(1)->y;
  EXPECT_EQ(gap(0, first + 3).by, 0) << "where it is";
  EXPECT_EQ(gap(0, second + 3).by, 0) << "above the next one, it stays";
  EXPECT_EQ(gap(0, second + kRowHeight - 3).by, 1);
  EXPECT_EQ(gap(1, -500).by, -1);
  EXPECT_EQ(session.tracks.rank_drop()->y, first) << "no higher than its host";
  EXPECT_EQ(gap(0, 5000).y, second + kRowHeight) << "nor lower";
  EXPECT_EQ(gap(2, first).by, 0) << "the only one of its host";
  session.tracks.drag_rank(9, 0);
  EXPECT_FALSE(session.tracks.rank_drop()) << "there is no such rank";
  session.tracks.drag_rank(0, 5000);
  session.tracks.drop_rank();
  EXPECT_EQ(session.tracks.arrangement().order, (std::vector<int>{1, 0}));
  EXPECT_FALSE(session.tracks.rank_drop());
}

TEST_F(SessionTest, FoldingTogglesRows) {
  const size_t rows = session.tracks.layout().rows.size();
  session.tracks.toggle_first_of(session.selecting.selection().ranks);
  EXPECT_EQ(session.tracks.layout().rows.size(), rows - 2);
  session.tracks.toggle(session.tracks.layout().rows.front());
  EXPECT_EQ(session.tracks.layout().rows.size(), rows - 4);
}

TEST_F(SessionTest, SelectorsThatNameNothingAreRefused) {
  const Selection before = session.selecting.selection();
  for (const char* text : {"rank:9", "step:99", "finding:3", "finding:0", "row:0/host_range/999",
                           "collective:0/all_reduce/77", "nonsense", "rank:", "rank:x", "step:-1",
                           "range:5ms..3ms", "range:1ms", "row:1/host_range", ""}) {
    const Status status = session.selecting.select(text);
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_EQ(status.error().code, Code::kUsage) << text;
  }
  EXPECT_EQ(session.selecting.selection().finding, before.finding);
}

TEST_F(SessionTest, RangesTakeUnits) {
  ASSERT_TRUE(session.selecting.select("range:0.05s..120ms").ok());
  EXPECT_EQ(session.selecting.selection().range, (Interval{TraceNs{50 * kMs}, TraceNs{120 * kMs}}));
  EXPECT_EQ(session.selecting.range(), *session.selecting.selection().range);
}

TEST_F(SessionTest, TheTableSumsToTheWall) {
  const SelectionTable table = selection_table(session.model(), session.selecting);
  ASSERT_EQ(table.ranks, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(table.wall_ns, std::vector<int64_t>(3, 100 * kMs));
  const auto line = [&](analyzer::Category category) {
    for (const SelectionTable::Line& candidate : table.lines) {
      if (candidate.category == category) return candidate;
    }
    return SelectionTable::Line{};
  };
  EXPECT_EQ(line(analyzer::Category::kExposedWait).ns,
            (std::vector<int64_t>{30 * kMs, 30 * kMs, 0}));
  EXPECT_EQ(line(analyzer::Category::kInputWait).standing_out, 2U);
  EXPECT_FALSE(line(analyzer::Category::kForward).standing_out);
}

TEST_F(SessionTest, TheTableOfARangeCutsPieces) {
  session.selecting.select_range(Interval{TraceNs{5 * kMs}, TraceNs{20 * kMs}});
  const SelectionTable table = selection_table(session.model(), session.selecting);
  EXPECT_EQ(table.wall_ns, std::vector<int64_t>(3, 15 * kMs));
  ASSERT_EQ(table.lines.size(), 2U);
  EXPECT_EQ(table.lines[0].ns, (std::vector<int64_t>{10 * kMs, 10 * kMs, 0}));
  EXPECT_EQ(table.lines[1].ns, (std::vector<int64_t>{5 * kMs, 5 * kMs, 15 * kMs}));
}

TEST_F(SessionTest, TheStateSaysWhatIsShown) {
  const auto state = nlohmann::json::parse(dump_state(session, 0, {"a message"}));
  EXPECT_EQ(state["schema"], "dprof.gui_state/1");
  EXPECT_EQ(state["pending"], 0);
  EXPECT_EQ(state["selection"]["ranks"], nlohmann::json::array({2}));
  EXPECT_EQ(state["selection"]["selectors"][0], "finding:1");
  EXPECT_EQ(state["badges"]["clock_bound_ns"], 14'000);
  EXPECT_EQ(state["badges"]["lost"], 0);
  EXPECT_EQ(state["messages"][0], "a message");
  EXPECT_EQ(state["rows"][1]["track"], "rank:0");
  EXPECT_EQ(state["rows"][1]["items"], 18) << "six pieces in each of three steps";
  session.tracks.pin({"rank:2"});
  session.tracks.scroll_by(40);
  const auto scrolled = nlohmann::json::parse(dump_state(session, 0, {}))["rows"];
  EXPECT_EQ(scrolled[1]["y"], kRowHeight);
  EXPECT_EQ(scrolled[1]["fixed"], true);
  EXPECT_EQ(scrolled[2]["track"], "host:node-a");
  EXPECT_EQ(scrolled[2]["y"], 2 * kRowHeight - 40);
  EXPECT_EQ(scrolled[2]["in_view"], false) << "below the pinned rows";
  // Rank 2 in step 1: step, input, forward, optimizer, all_reduce.
  EXPECT_EQ(state["selection"]["events"], 5);
}

TEST(Session, ARunWithoutStepsAndFindingsOpens) {
  analyzer::Run run{.name = "bare"};
  run.traces.push_back({.rank = 0, .host = "node-a"});
  analyzer::Analysis analysis;
  analysis.ranks.push_back({.rank = 0});
  auto model = std::make_shared<const Model>(
      build_model(std::move(run), std::move(analysis), {analyzer::RankLanes{.rank = 0}}));
  Session session;
  session.open(model);
  EXPECT_FALSE(session.walk.next_finding(1));
  EXPECT_FALSE(session.walk.next_step(1));
  EXPECT_FALSE(session.walk.next_arrival(1));
  EXPECT_FALSE(session.walk.next_slice(1));
  session.selecting.focus();
  EXPECT_FALSE(selection_table(session.model(), session.selecting).why_empty.empty());
  EXPECT_EQ(nlohmann::json::parse(dump_state(session, 0, {}))["badges"]["clock_bound_ns"], nullptr);
}

TEST_F(SessionTest, AHungRunOpensOnTheCollectiveThatNeverCompleted) {
  Model model = test::small_model();
  analyzer::MatchedCollective& last = model.collectives.back();
  last.complete = false;
  last.last_arriver.reset();
  last.members[2].end.reset();
  model.report.hang = analyzer::Hang{.state = "waiting",
                                     .culprits = {2},
                                     .waiting = {0, 1},
                                     .communicator = last.communicator,
                                     .function = last.function,
                                     .sequence = last.sequence};
  session.open(std::make_shared<const Model>(std::move(model)));
  EXPECT_EQ(session.viewport.page(), Page::kTimeline);
  ASSERT_TRUE(session.selecting.selection().collective);
  EXPECT_EQ(*session.selecting.selection().collective, session.model().collectives.size() - 1);
  EXPECT_EQ(session.selecting.selection().finding, 0U) << "the finding about it stays chosen";
  session.viewport.show_page(Page::kMatrix);
  session.selecting.clear();
  session.selecting.select_failure();
  EXPECT_EQ(session.viewport.page(), Page::kTimeline);
  ASSERT_TRUE(session.selecting.selection().collective);
  const auto state = nlohmann::json::parse(dump_state(session, 0, {}));
  EXPECT_EQ(state["hang"]["culprits"], nlohmann::json::array({2}));
  const Interval hung = extent_of(session.model().collectives.back());
  EXPECT_LE(session.viewport.range().begin, hung.begin);
  EXPECT_GE(session.viewport.range().end, hung.end);
}

TEST_F(SessionTest, AHangInMessagesSelectsWhoIsMissing) {
  Model model = test::small_model();
  model.report.hang = analyzer::Hang{.state = "waiting",
                                     .culprits = {2},
                                     .waiting = {0, 1},
                                     .communicator = "0",
                                     .function = schema::Function::kRecv};
  session.open(std::make_shared<const Model>(std::move(model)));
  EXPECT_EQ(session.selecting.selection().finding, 0U) << "there is no collective to open on";
  session.selecting.select_failure();
  EXPECT_EQ(session.selecting.selection().ranks, std::vector<int>{2});
  EXPECT_EQ(session.viewport.range().end, session.viewport.whole().end);
}

TEST_F(SessionTest, ARunThatFailedOpensAtItsFirstFailure) {
  Model model = test::small_model();
  const TraceNs end = model.span.end;
  model.report.ending = analyzer::Ending{
      .ranks = {{.rank = 0, .how = "exit", .code = 1, .time_ns = end.ns},
                {.rank = 1,
                 .how = "signal",
                 .signal = 11,
                 .time_ns = end.ns - 100,
                 .first = true,
                 .doing = {"in `backward`"},
                 .output = {"Segmentation fault", "(core dumped)"}}},
      .verdict = {.kind = "crash", .ranks = {1}, .title = "rank 1 crashed (SIGSEGV)"}};
  session.open(std::make_shared<const Model>(std::move(model)));
  EXPECT_EQ(session.viewport.page(), Page::kTimeline);
  EXPECT_EQ(session.selecting.selection().ranks, std::vector<int>{1});
  EXPECT_TRUE(session.viewport.holds({{end.ns - 100}, {end.ns - 100}}));
  const FixedTextMeasure measure;
  const std::string banner =
      to_text(draw_failure_banner(session.model(), session.selecting, 900, measure).list);
  for (const char* part : {"Failed: crash", "culprit: rank 1", "rank 1 crashed (SIGSEGV)"})
    EXPECT_NE(banner.find(part), std::string::npos) << part << " in\n" << banner;
  const std::string details = to_text(
      draw_details(session.model(), session.selecting, session.flow, {}, 400, 600, measure).list);
  for (const char* part : {"SIGSEGV", "in `backward`", "Segmentation fault", "(core dumped)"})
    EXPECT_NE(details.find(part), std::string::npos) << part << " in\n" << details;
}

TEST_F(SessionTest, ABannerSaysWhatHangs) {
  const FixedTextMeasure measure;
  EXPECT_EQ(draw_failure_banner(session.model(), session.selecting, 900, measure).height, 0)
      << "nothing hangs";
  Model model = test::small_model();
  model.collectives.back().complete = false;
  model.report.hang = analyzer::Hang{.state = "waiting",
                                     .culprits = {2},
                                     .waiting = {0, 1},
                                     .communicator = "0",
                                     .function = schema::Function::kAllReduce,
                                     .sequence = 2,
                                     .reason = "rank 2 sleeps"};
  session.open(std::make_shared<const Model>(std::move(model)));
  session.selecting.clear();
  const Panel banner = draw_failure_banner(session.model(), session.selecting, 900, measure);
  const std::string text = to_text(banner.list);
  for (const char* part : {"Hang: all_reduce #2 of group 0", "culprit: rank 2",
                           "waiting: ranks 0, 1", "Rank 2 sleeps."})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  ASSERT_EQ(banner.links.size(), 1U);
  banner.links.front().follow();
  EXPECT_EQ(session.selecting.selection().collective, 2U);
}

}  // namespace
}  // namespace dprof::view
