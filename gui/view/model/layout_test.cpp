// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/layout.h"

#include <gtest/gtest.h>

#include "gui/view/model/test_support/test_model.h"
#include "gui/view/model/under_mouse.h"

namespace dprof::view {
namespace {

using test::kMs;

std::vector<std::string> tracks_of(const Layout& layout) {
  std::vector<std::string> tracks;
  for (const Row& row : layout.rows) tracks.push_back(row.track);
  return tracks;
}

TEST(Layout, HostsHoldRanksAndRanksHoldThreads) {
  const Model model = test::small_model();
  Arrangement arrangement;
  arrangement.unfolded_ranks = {2};
  const Layout layout = make_layout(model, arrangement);
  EXPECT_EQ(tracks_of(layout),
            (std::vector<std::string>{"host:node-a", "rank:0", "rank:1", "host:node-b", "rank:2",
                                      "rank:2/thread:main", "rank:2/thread:gloo_worker"}));
  EXPECT_EQ(layout.rows[4].note, "own +30.0 ms");
  EXPECT_TRUE(layout.rows[4].problem);
  EXPECT_EQ(layout.rows[5].depths, 2);
}

TEST(Layout, PinnedTracksComeFirstWhetherTheirRankIsFoldedOrNot) {
  const Model model = test::small_model();
  Arrangement arrangement;
  arrangement.pinned = {"rank:*/thread:main", "rank:2", "rank:9"};
  const Layout layout = make_layout(model, arrangement);
  EXPECT_EQ(tracks_of(layout),
            (std::vector<std::string>{"pinned", "rank:0/thread:main", "rank:1/thread:main",
                                      "rank:2/thread:main", "rank:2", "host:node-a", "rank:0",
                                      "rank:1", "host:node-b", "rank:2"}));
  EXPECT_EQ(layout.rows[1].label, "rank 0 main");
  EXPECT_FALSE(layout.of_rank(2)->pinned);
}

TEST(Layout, PinnedRowsStayInViewAsManyAsFit) {
  const Model model = test::small_model();
  Arrangement arrangement;
  arrangement.pinned = {"rank:2", "rank:*/thread:main"};
  Layout layout = make_layout(model, arrangement);
  const auto fixed = [&] { return std::ranges::count(layout.rows, true, &Row::fixed); };
  layout.fix_pinned(400);
  EXPECT_EQ(fixed(), 5) << "the heading and four rows";
  EXPECT_EQ(layout.fixed_height, layout.rows[5].y);
  EXPECT_EQ(layout.rows[0].note, "");
  layout.fix_pinned(layout.rows[3].y + 5);
  EXPECT_EQ(fixed(), 3) << "a row is not cut";
  EXPECT_EQ(layout.fixed_height, layout.rows[3].y);
  EXPECT_EQ(layout.rows[0].note, "2 of 4 stay in view");
  layout.fix_pinned(kRowHeight + 5);
  EXPECT_EQ(fixed(), 0) << "a heading alone says nothing";
  EXPECT_EQ(layout.fixed_height, 0);
  EXPECT_EQ(layout.rows[0].note, "0 of 4 stay in view");
  arrangement.pinned.clear();
  layout = make_layout(model, arrangement);
  layout.fix_pinned(400);
  EXPECT_EQ(fixed(), 0);
}

TEST(Layout, HiddenTracksAreCountedAndPinnedOnesAreNotHidden) {
  const Model model = test::small_model();
  Arrangement arrangement;
  arrangement.unfolded_ranks = {2};
  arrangement.hidden = {"rank:0", "rank:2/thread:main"};
  arrangement.pinned = {"rank:0"};
  const Layout layout = make_layout(model, arrangement);
  EXPECT_EQ(tracks_of(layout),
            (std::vector<std::string>{"pinned", "rank:0", "host:node-a", "rank:1", "host:node-b",
                                      "rank:2", "rank:2/thread:gloo_worker", "hidden"}));
  EXPECT_EQ(layout.rows.back().label, "2 hidden");
}

TEST(Layout, PatternsMeanTracksOfTheirOwnDepth) {
  EXPECT_TRUE(track_matches("rank:*", "rank:12"));
  EXPECT_FALSE(track_matches("rank:*", "rank:12/stream:7"));
  EXPECT_TRUE(track_matches("rank:*/stream:7", "rank:12/stream:7"));
  EXPECT_FALSE(track_matches("rank:*/stream:7", "rank:12/stream:70"));
}

TEST(Layout, RowsFollowEachOtherWithoutGap) {
  const Model model = test::small_model();
  Arrangement arrangement;
  arrangement.unfolded_ranks = {0, 1, 2};
  const Layout layout = make_layout(model, arrangement);
  int y = 0;
  for (const Row& row : layout.rows) {
    EXPECT_EQ(row.y, y);
    y += row.height;
    EXPECT_EQ(layout.at(row.y), &row);
    EXPECT_EQ(layout.at(row.y + row.height - 1), &row);
  }
  EXPECT_EQ(layout.height, y);
  EXPECT_EQ(layout.at(y), nullptr);
  EXPECT_EQ(layout.at(-1), nullptr);
}

TEST(Layout, AFoldedHostHidesItsRanks) {
  const Model model = test::small_model();
  Arrangement arrangement;
  arrangement.folded_hosts = {"node-a"};
  EXPECT_EQ(tracks_of(make_layout(model, arrangement)),
            (std::vector<std::string>{"host:node-a", "host:node-b", "rank:2"}));
}

TEST(Layout, TheFilterTakesRankHostAndThread) {
  const Model model = test::small_model();
  Arrangement arrangement;
  arrangement.filter = "rank 1";
  EXPECT_EQ(tracks_of(make_layout(model, arrangement)),
            (std::vector<std::string>{"host:node-a", "rank:1"}));
  arrangement.filter = "NODE-B";
  EXPECT_EQ(tracks_of(make_layout(model, arrangement)),
            (std::vector<std::string>{"host:node-b", "rank:2"}));
  arrangement.filter = "gloo";
  EXPECT_EQ(make_layout(model, arrangement).rows.size(), 5U);
  arrangement.filter = "no such thing";
  EXPECT_TRUE(make_layout(model, arrangement).rows.empty());
}

TEST(HitTest, FindsPiecesAndSlices) {
  const Model model = test::small_model();
  Arrangement arrangement;
  arrangement.unfolded_ranks = {0};
  const Layout layout = make_layout(model, arrangement);
  const TimeScale scale({TraceNs{0}, TraceNs{300 * kMs}}, 600);  // 2 pixels per ms
  const Row& rank = layout.rows[1];
  const Hit piece = hit_test(model, layout, scale, 60, rank.y + kBarTop + 1);
  ASSERT_TRUE(piece.piece);
  EXPECT_EQ(static_cast<analyzer::Category>(model.ranks[0].summary.category[*piece.piece]),
            analyzer::Category::kForward);
  EXPECT_FALSE(piece.slice);

  const Row& main = layout.rows[2];
  const Hit slice = hit_test(model, layout, scale, 60, main.y + depth_top(1) + 2);
  ASSERT_TRUE(slice.slice);
  EXPECT_EQ(*slice.slice, (SlicePlace{0, 0, 1, 1}));
  EXPECT_EQ(slice.folded, 0U);

  EXPECT_FALSE(hit_test(model, layout, scale, 150, main.y + depth_top(1) + 2).slice) << "a gap";
  EXPECT_EQ(hit_test(model, layout, scale, 60, layout.height + 5).row, nullptr);
  EXPECT_EQ(hit_test(model, layout, scale, 60, 2).row, layout.rows.data()) << "the host's row";
}

TEST(HitTest, SaysHowManyShareThePixel) {
  const Model model = test::small_model();
  Arrangement arrangement;
  arrangement.unfolded_ranks = {0};
  const Layout layout = make_layout(model, arrangement);
  const TimeScale scale({TraceNs{0}, TraceNs{300 * kMs}}, 3);  // a step per pixel
  const Row& main = layout.rows[2];
  const Hit hit = hit_test(model, layout, scale, 1, main.y + depth_top(1) + 2);
  ASSERT_TRUE(hit.slice);
  EXPECT_EQ(hit.folded, 3U);
  EXPECT_EQ(hit.slice->slice, 4U) << "forward is the longest";
}

}  // namespace
}  // namespace dprof::view
