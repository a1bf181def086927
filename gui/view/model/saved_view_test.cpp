// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/saved_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "gui/view/model/test_support/test_model.h"
#include "gui/view/session/session.h"

namespace dprof::view {
namespace {

using test::kMs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

SavedView some_view() {
  return {.range = {{5 * kMs}, {50 * kMs}},
          .page = "collectives",
          .dock = "table",
          .arrangement = {.folded_hosts = {"node-b"},
                          .unfolded_ranks = {0, 1},
                          .filter = "main",
                          .pinned = {"rank:*/thread:main"},
                          .hidden = {"rank:1"},
                          .order = {1, 0}},
          .selectors = {"rank:2"},
          .notes = {{{{7}, {7}}, "here \"it\" begins"}, {{{8}, {9}}, "and goes on"}},
          .query = "SELECT 1,\n 2",
          .queries = {"SELECT 1", "SELECT 'x'"}};
}

class SavedViewFileTest : public ::testing::Test {
 protected:
  SavedViewFileTest() : folder(fs::path(::testing::TempDir()) / fmt::format("view{}", getpid())) {
    fs::create_directories(folder);
  }
  ~SavedViewFileTest() override { fs::remove_all(folder); }
  fs::path folder;
};

TEST(SavedViewTest, ComesBackAsItWas) {
  const Result<SavedView> read = view_from_json(to_json(some_view()));
  ASSERT_TRUE(read.ok()) << read.error().what;
  EXPECT_EQ(*read, some_view());
}

TEST(SavedViewTest, DamagedAndNewerFilesAreErrorsAndOddFieldsAreNone) {
  for (const char* bad : {"", "[]", "{", "{\"schema\": \"dprof.view/2\"}", "{\"schema\": 3}"})
    EXPECT_FALSE(view_from_json(bad).ok()) << bad;
  EXPECT_THAT(view_from_json("{\"schema\": \"dprof.view/2\"}").error().what,
              HasSubstr("another dprof"));
  const Result<SavedView> odd = view_from_json(
      R"({"schema": "dprof.view/1", "range_ns": [9, 3], "selectors": [1, "rank:0"], "page": 7,
          "tracks": {"order": ["a", 2], "pinned": "x"}, "notes": [3, {"text": "t"}], "new": {}})");
  ASSERT_TRUE(odd.ok()) << odd.error().what;
  EXPECT_TRUE(odd->range.empty());
  EXPECT_THAT(odd->selectors, ElementsAre("rank:0"));
  EXPECT_THAT(odd->arrangement.order, ElementsAre(2));
  EXPECT_TRUE(odd->notes.empty());
  EXPECT_TRUE(odd->query.empty()) << "a file from before the dock SQL";
  const Result<SavedView> odder =
      view_from_json(R"({"schema": "dprof.view/1", "sql": {"query": 3, "history": ["a", 4]}})");
  ASSERT_TRUE(odder.ok());
  EXPECT_THAT(odder->queries, ElementsAre("a"));
}

TEST(SavedViewTest, ASessionGoesBackToItAndPassesOverWhatTheRunLacks) {
  Session first;
  first.open(test::shared_small_model());
  EXPECT_TRUE(first.is_as_opened());
  SavedView view = some_view();
  view.selectors = {"rank:1", "rank:17", "step:1", "nonsense"};
  first.restore(view);
  EXPECT_FALSE(first.is_as_opened());
  EXPECT_EQ(first.viewport.page(), Page::kCollectives);
  EXPECT_EQ(first.dock, Dock::kTable);
  EXPECT_THAT(first.selecting.selection().ranks, ElementsAre(1));
  EXPECT_EQ(first.selecting.selection().step, 1);
  EXPECT_EQ(first.viewport.range().begin, TraceNs{5 * kMs});
  EXPECT_EQ(first.notes.all().size(), 2U);
  EXPECT_EQ(first.sql.text(), view.query);
  EXPECT_EQ(first.sql.history(), view.queries);
  Session second;
  second.open(test::shared_small_model());
  second.restore(first.saved_view());
  EXPECT_EQ(second.saved_view(), first.saved_view());
}

TEST(SavedViewTest, ARunThatIsReadAgainKeepsWhatIsLookedAt) {
  Session session;
  session.open(test::shared_small_model());
  session.renew(test::shared_small_model());
  EXPECT_TRUE(session.is_as_opened()) << "nobody had moved: it follows";
  ASSERT_TRUE(session.selecting.select("collective:0/all_reduce/1").ok());
  session.notes.add(session.selecting.range(), "look");
  session.tracks.pin({"rank:2"});
  const SavedView before = session.saved_view();
  Model longer = test::small_model();
  longer.span.end = longer.span.end + DurationNs{100 * kMs};
  session.renew(std::make_shared<const Model>(std::move(longer)));
  EXPECT_EQ(session.saved_view(), before);
  EXPECT_GT(session.viewport.whole().end, test::small_model().span.end);
}

TEST(SavedViewTest, PinningWhatIsPinnedUnpinsIt) {
  Session session;
  session.open(test::shared_small_model());
  session.selecting.select_rank(2);
  session.tracks.pin(view::tracks_of(session.model(), session.selecting.selection()));
  EXPECT_THAT(session.tracks.arrangement().pinned, ElementsAre("rank:2"));
  EXPECT_EQ(view::track_pattern_of(session.model(), session.selecting.selection()), "rank:*");
  session.tracks.pin(view::tracks_of(session.model(), session.selecting.selection()));
  EXPECT_TRUE(session.tracks.arrangement().pinned.empty());
}

TEST(SavedViewTest, RanksMoveAmongThoseOfTheirHost) {
  Session session;
  session.open(test::shared_small_model());
  const auto ranks = [&] {
    std::vector<int> seen;
    for (const Row& row : session.tracks.layout().rows) {
      if (row.kind == RowKind::kRank) seen.push_back(row.rank_index);
    }
    return seen;
  };
  session.tracks.move_rank(0, 1);
  EXPECT_THAT(ranks(), ElementsAre(1, 0, 2));
  session.tracks.move_rank(0, 5);
  EXPECT_THAT(ranks(), ElementsAre(1, 0, 2)) << "it stays on its host";
  session.tracks.move_rank(0, -1);
  EXPECT_THAT(ranks(), ElementsAre(0, 1, 2));
}

TEST_F(SavedViewFileTest, LiesBesideTheRunOrInTheUsersFolder) {
  EXPECT_EQ(view_file_of({folder}), folder / "dprofview.json");
  EXPECT_EQ(view_file_of({folder / "rank-00000.dprof"}),
            folder / "rank-00000.dprof.dprofview.json");
  EXPECT_TRUE(view_file_of({folder, folder}).empty()) << "which of them?";
  setenv("XDG_STATE_HOME", (folder / "state").c_str(), 1);
  const fs::path own = own_view_file_of({folder});
  EXPECT_THAT(own.string(), HasSubstr((folder / "state" / "dprof").string()));
  EXPECT_NE(own, own_view_file_of({folder / "other"}));
  ASSERT_TRUE(write_view(own, some_view()).ok()) << "it makes the folders";
  const Result<SavedView> read = read_view(own);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, some_view());
  unsetenv("XDG_STATE_HOME");
}

TEST_F(SavedViewFileTest, AFolderThatCannotBeWrittenIsAnErrorAndLeavesNothing) {
  const fs::path file = folder / "a file" / "dprofview.json";
  std::ofstream(folder / "a file") << "no folder";
  EXPECT_FALSE(write_view(file, some_view()).ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  EXPECT_FALSE(read_view(folder / "not there").ok());
}

}  // namespace
}  // namespace dprof::view
