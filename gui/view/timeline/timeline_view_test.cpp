// SPDX-License-Identifier: Apache-2.0
// Draw lists of a small run, as text. DPROF_UPDATE_GOLDEN=1 rewrites the expectations.
#include "gui/view/timeline/timeline_view.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "gui/view/docks/selection_table.h"
#include "gui/view/draw_session.h"
#include "gui/view/model/test_support/test_model.h"
#include "gui/view/panels.h"
#include "gui/view/timeline/overview.h"
#include "tests/support/paths.h"

namespace dprof::view {
namespace {

void expect_golden(const DrawList& list, const std::string& name) {
  const std::filesystem::path path =
      std::filesystem::path(test_support::source_dir()) / "tests/golden/gui" / (name + ".txt");
  if (std::getenv("DPROF_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << to_text(list);
  }
  std::ifstream file(path);
  std::stringstream want;
  want << file.rdbuf();
  EXPECT_EQ(to_text(list), want.str()) << "golden file " << path;
}

std::vector<Box> frames_of(const DrawList& list) {
  std::vector<Box> boxes;
  for (const Command& command : list.commands()) {
    if (command.kind == CommandKind::kFrame && command.radius == 0) boxes.push_back(command.box);
  }
  return boxes;
}

class TimelineViewTest : public ::testing::Test {
 protected:
  TimelineViewTest() {
    session.viewport.resize(600, 200);
    session.open(test::shared_small_model());
  }
  Session session;
  FixedTextMeasure measure;
};

TEST_F(TimelineViewTest, Header) { expect_golden(draw_header(session, 600, measure), "header"); }
TEST_F(TimelineViewTest, Rows) { expect_golden(draw_rows(session, 600, 200, measure), "rows"); }
TEST_F(TimelineViewTest, Overlay) {
  expect_golden(draw_overlay(session, 600, 200, measure), "overlay");
}
TEST_F(TimelineViewTest, AFilterThatMatchesNothingIsNamed) {
  session.viewport.set_filter("no such thing");
  const std::string rows = to_text(draw_rows(session, 600, 200, measure));
  EXPECT_NE(rows.find("“no such thing”"), std::string::npos);
  EXPECT_NE(rows.find("Backspace"), std::string::npos);
  session.viewport.back();
  EXPECT_EQ(to_text(draw_rows(session, 600, 200, measure)).find("matches"), std::string::npos);
}

TEST_F(TimelineViewTest, Tracks) {
  expect_golden(draw_tracks(session, 240, 200, measure), "tracks");
}
TEST_F(TimelineViewTest, Overview) {
  DrawList list = draw_overview(session.model(), session.viewport.whole(), 600);
  list.append(draw_brush(session.viewport.range(), session.viewport.whole(), 600));
  expect_golden(list, "overview");
}
TEST_F(TimelineViewTest, SelectionTable) {
  expect_golden(draw_selection_table(session.model(), session.selecting, 600, 200, measure).list,
                "selection_table");
}
TEST_F(TimelineViewTest, Findings) {
  const Panel panel = draw_findings(session.model(), session.selecting, 380, 400, measure);
  EXPECT_EQ(panel.links.size(), 2U);
  expect_golden(panel.list, "findings");
}
TEST_F(TimelineViewTest, StatusBar) {
  expect_golden(draw_status_bar(&session.model(), session.viewport.range(), session.tracks.layout(),
                                "", 1200, 24, measure),
                "status_bar");
}

TEST_F(TimelineViewTest, TheSameStateGivesTheSamePicture) {
  const std::string once = to_text(draw_rows(session, 600, 200, measure));
  EXPECT_EQ(once, to_text(draw_rows(session, 600, 200, measure)));
}

TEST_F(TimelineViewTest, HoverShowsWhatIsUnderTheMouse) {
  session.selecting.clear();
  session.tracks.set_hover(Hover{.at = {50, 50}, .slice = SlicePlace{2, 0, 1, 1}, .rank_index = 2});
  const std::string text = to_text(draw_overlay(session, 600, 200, measure));
  EXPECT_NE(text.find("\"forward\""), std::string::npos) << text;
  EXPECT_NE(text.find("35.0 ms · forward · rank 2, main"), std::string::npos) << text;
}

TEST_F(TimelineViewTest, PinnedRowsAreDrawnAboveThoseThatScroll) {
  session.tracks.pin({"rank:2"});
  const auto fixed_part = [&](const DrawList& list) {
    const std::string text = to_text(list);
    const size_t clip = text.find("clip 0 50");
    EXPECT_NE(clip, std::string::npos);
    return text.substr(0, clip);
  };
  const std::string rows = fixed_part(draw_rows(session, 600, 200, measure));
  const std::string tracks = fixed_part(draw_tracks(session, 240, 200, measure));
  const std::string before = to_text(draw_rows(session, 600, 200, measure));
  session.tracks.scroll_by(40);
  EXPECT_EQ(fixed_part(draw_rows(session, 600, 200, measure)), rows);
  EXPECT_EQ(fixed_part(draw_tracks(session, 240, 200, measure)), tracks);
  EXPECT_NE(to_text(draw_rows(session, 600, 200, measure)), before) << "the others scroll";
}

TEST_F(TimelineViewTest, TheOverlayFollowsPinnedRows) {
  session.tracks.pin({"rank:2", "rank:2/thread:main"});
  session.selecting.select_event({2, 0, 1, 4});
  session.tracks.scroll_by(10'000);
  const int pinned_y = session.tracks.layout().rows[2].y + depth_top(1);
  const std::string text = to_text(draw_overlay(session, 600, 200, measure));
  const Box box = frames_of(draw_overlay(session, 600, 200, measure)).front();
  EXPECT_EQ(box.y, pinned_y - 1) << text;
  // Arrivals covered by the pinned rows are not drawn over them.
  const int fixed = session.tracks.layout().fixed_height;
  const DrawList overlay = draw_overlay(session, 600, 200, measure);
  for (const Command& command : overlay.commands()) {
    if (command.kind != CommandKind::kPolyline) continue;
    for (const Point& point : overlay.points_of(command))
      EXPECT_TRUE(point.y >= fixed || point.y == kRowHeight + kBarTop + kBarHeight / 2) << point.y;
  }
}

TEST_F(TimelineViewTest, ADraggedRankHasALineWhereItWillStand) {
  EXPECT_TRUE(draw_rank_drop(session.model(), session.tracks, 240).commands().empty());
  session.tracks.drag_rank(0, 5000);
  const std::string text = to_text(draw_rank_drop(session.model(), session.tracks, 240));
  EXPECT_EQ(text,
            "rect 0 25 240 25 accent\nrect 26 74 214 2 accent\n"
            "rect 23 72 6 6 accent\n");
}

class RowMarksTest : public TimelineViewTest {
 protected:
  // With rank 2's lanes and trace modified.
  void open(const std::function<void(analyzer::RankLanes&, analyzer::TraceFile&)>& change) {
    Model model = test::small_model();
    analyzer::RankLanes lanes = model.ranks[2].lanes();
    change(lanes, model.run.traces[2]);
    model.ranks[2].events = std::make_shared<const RankEvents>(std::move(lanes));
    session.open(std::make_shared<const Model>(std::move(model)));
    session.viewport.show_all();
  }
  [[nodiscard]] int64_t drawn(CommandKind kind, Role role, std::string_view track) const {
    const Row& row = *std::ranges::find(session.tracks.layout().rows, track, &Row::track);
    const int y = session.tracks.y_of(row);
    const DrawList list = draw_rows(session, 600, 400, measure);
    return std::ranges::count_if(list.commands(), [&](const Command& command) {
      return command.kind == kind && command.role == role && command.box.y >= y &&
             command.box.y < y + row.height;
    });
  }
  [[nodiscard]] std::string rows() const { return to_text(draw_rows(session, 600, 400, measure)); }
};

TEST_F(RowMarksTest, LostRecordsAreHatchedWhereTheirTimeIsKnown) {
  open([](analyzer::RankLanes& lanes, analyzer::TraceFile&) {
    lanes.losses = {{.span = {TraceNs{20 * test::kMs}, TraceNs{190 * test::kMs}},
                     .thread_id = 1,
                     .reason = schema::LossReason::kRingFull,
                     .count = 1204}};
  });
  EXPECT_NE(rows().find("1,204 records lost: ring full"), std::string::npos);
  const auto hovered = [&](SlicePlace place) {
    const int x = session.viewport.scale().pixel_of(TraceNs{100 * test::kMs});
    session.tracks.set_hover(Hover{.at = {x, 50}, .slice = place, .rank_index = place.rank_index});
    return to_text(draw_overlay(session, 600, 400, measure));
  };
  EXPECT_NE(hovered({2, 0, 0, 1}).find("around here 1,204 records lost"), std::string::npos);
  EXPECT_EQ(hovered({2, 1, 0, 1}).find("records lost"), std::string::npos) << "another thread";
  EXPECT_EQ(hovered({0, 0, 0, 1}).find("records lost"), std::string::npos) << "another rank";
  EXPECT_EQ(drawn(CommandKind::kHatch, Role::kProblem, "rank:2/thread:main"), 1);
  EXPECT_EQ(drawn(CommandKind::kHatch, Role::kProblem, "rank:2/thread:gloo_worker"), 0);
  EXPECT_EQ(drawn(CommandKind::kHatch, Role::kProblem, "rank:2"), 0) << "its thread is shown";
  session.tracks.toggle_first_of(session.selecting.selection().ranks);
  EXPECT_EQ(drawn(CommandKind::kHatch, Role::kProblem, "rank:2"), 1) << "it is folded away";
  session.viewport.show({TraceNs{50 * test::kMs}, TraceNs{150 * test::kMs}});
  EXPECT_EQ(rows().find("records lost"), std::string::npos) << "no words over the rows between";
  session.viewport.show({TraceNs{200 * test::kMs}, TraceNs{250 * test::kMs}});
  EXPECT_EQ(drawn(CommandKind::kHatch, Role::kProblem, "rank:2"), 0);
}

TEST_F(RowMarksTest, AKilledProcessHasAnEndMark) {
  open([](analyzer::RankLanes&, analyzer::TraceFile&) {});
  EXPECT_EQ(drawn(CommandKind::kRect, Role::kProblem, "rank:2/thread:main"), 0);
  open([](analyzer::RankLanes&, analyzer::TraceFile& trace) {
    trace.ended = "process_killed";
    trace.exit_status = "signal:9";
  });
  EXPECT_NE(rows().find("process killed, signal:9"), std::string::npos);
  EXPECT_EQ(drawn(CommandKind::kRect, Role::kProblem, "rank:2/thread:main"), 1);
  EXPECT_EQ(drawn(CommandKind::kRect, Role::kProblem, "rank:0"), 0);
}

TEST_F(RowMarksTest, WhatNothingEndedFadesOut) {
  const auto backgrounds = [&] {
    return drawn(CommandKind::kRect, Role::kLaneBackground, "rank:2/thread:main");
  };
  open([](analyzer::RankLanes&, analyzer::TraceFile&) {});
  EXPECT_EQ(backgrounds(), 1);
  open([](analyzer::RankLanes& lanes, analyzer::TraceFile&) { lanes.open_slices = 1; });
  EXPECT_GT(backgrounds(), 8);
}

TEST_F(TimelineViewTest, OnlyVisibleRowsAreDrawn) {
  session.viewport.show_all();
  const size_t all = draw_rows(session, 600, 1000, measure).commands().size();
  const size_t few = draw_rows(session, 600, 30, measure).commands().size();
  EXPECT_LT(few, all / 2);
}

TEST_F(TimelineViewTest, NoLabelLeavesItsSlice) {
  session.viewport.show_all();
  const DrawList list = draw_rows(session, 600, 400, measure);
  for (const Command& command : list.commands()) {
    if (command.kind != CommandKind::kText) continue;
    EXPECT_LE(measure.width(list.text_of(command), command.font), command.box.w);
  }
}

TEST_F(TimelineViewTest, MessagesHaveTheirHint) {
  const std::string text = to_text(
      draw_message("RUN: no such folder", "give a run folder", std::nullopt, 600, 400, measure));
  EXPECT_NE(text.find("RUN: no such folder"), std::string::npos);
  EXPECT_NE(text.find("give a run folder"), std::string::npos);
}

}  // namespace
}  // namespace dprof::view
