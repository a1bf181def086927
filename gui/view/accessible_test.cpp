// SPDX-License-Identifier: Apache-2.0
#include "gui/view/accessible.h"

#include <gtest/gtest.h>

#include "gui/view/draw_session.h"
#include "gui/view/model/test_support/test_model.h"

namespace dprof::view {
namespace {

using test::kMs;

TEST(AccessibleRows, SayWhatIsSeen) {
  Session session;
  session.open(test::shared_small_model());
  session.viewport.resize(1000, 400);
  session.viewport.show({{100 * kMs}, {200 * kMs}});
  session.selecting.select_rank(2);
  const auto index = [&](std::string_view track) {
    const std::vector<Row>& rows = session.tracks.layout().rows;
    const auto at = std::ranges::find(rows, track, &Row::track);
    EXPECT_NE(at, rows.end()) << track;
    return static_cast<size_t>(at - rows.begin());
  };
  const auto row = [&](std::string_view track) {
    return accessible_row(rows_area(session), session.selecting.selection(), index(track), 1000);
  };
  const auto value = [&](std::string_view track) {
    return accessible_value(rows_area(session), index(track));
  };
  EXPECT_EQ(row("host:node-a").name, "node-a");
  EXPECT_EQ(value("host:node-a"), "2 ranks");
  EXPECT_EQ(value("rank:2"), "own +30.0 ms, mostly input wait, 40 % of the time in view");
  EXPECT_TRUE(row("rank:2").selected);
  EXPECT_FALSE(row("rank:0").selected);
  EXPECT_EQ(row("rank:2/thread:main").name, "rank 2, main");
  EXPECT_EQ(value("rank:2/thread:main"), "4 events, 100 % busy in view");
  EXPECT_EQ(value("rank:2/thread:gloo_worker"), "1 events, 10 % busy in view");
  EXPECT_EQ(row("rank:2").box.w, 1000);
}

TEST(AccessibleRows, ArePlacedWhereTheyAreSeen) {
  Session session;
  session.open(test::shared_small_model());
  session.viewport.resize(1000, 120);
  session.tracks.pin({"rank:1"});
  session.tracks.scroll_by(kRowHeight + 10);
  const int fixed = session.tracks.layout().fixed_height;
  const AccessibleRow pinned =
      accessible_row(rows_area(session), session.selecting.selection(), 1, 1000);
  EXPECT_TRUE(pinned.in_view);
  EXPECT_EQ(pinned.box, (Box{0, kRowHeight, 1000, kRowHeight}));
  EXPECT_FALSE(accessible_row(rows_area(session), session.selecting.selection(), 2, 1000).in_view)
      << "the host";
  const AccessibleRow cut =
      accessible_row(rows_area(session), session.selecting.selection(), 3, 1000);
  EXPECT_EQ(cut.box, (Box{0, fixed, 1000, kRowHeight - 10})) << "the rest is covered";
}

}  // namespace
}  // namespace dprof::view
