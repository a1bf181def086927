// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/event_loading.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "gui/view/docks/range_title.h"
#include "gui/view/model/test_support/test_model.h"
#include "gui/view/session/session.h"
#include "tests/support/temporary_folder.h"

namespace dprof::view {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kTraceBytes = 1000;

// Eight ranks with traces of equal size, none loaded.
class EventLoadingTest : public ::testing::Test {
 protected:
  EventLoadingTest() {
    for (int r = 0; r < 8; ++r) {
      const auto path = folder_.path() / fmt::format("rank-{}", r);
      std::ofstream(path) << std::string(kTraceBytes, 'x');
      model_.run.traces.push_back({.path = path, .rank = r});
      model_.ranks.push_back(RankModel{.rank = r});
    }
  }

  void load(size_t rank) {
    RankEvents events{analyzer::RankLanes()};
    events.memory_bytes = kTraceBytes;
    model_.ranks[rank].events = std::make_shared<const RankEvents>(std::move(events));
  }

  // Executes all steps; returns the order in which ranks were loaded.
  std::vector<size_t> load_all(const std::vector<size_t>& looked_at, int64_t budget,
                               const std::set<size_t>& failed = {}) {
    std::vector<size_t> order;
    while (order.size() < 100) {
      const EventStep step = next_event_step(model_, looked_at, failed, {budget});
      for (const size_t r : step.drop)
        model_.ranks[r].events = std::make_shared<const RankEvents>();
      if (!step.load) break;
      load(*step.load);
      order.push_back(*step.load);
      EXPECT_LE(model_.memory_bytes(), budget);
    }
    return order;
  }

  test_support::TemporaryFolder folder_;
  Model model_;
};

TEST_F(EventLoadingTest, WhatIsLookedAtComesFirstThenTheOthers) {
  EXPECT_THAT(load_all({5, 2}, 100 * kTraceBytes), ElementsAre(5, 2, 0, 1, 3, 4, 6, 7));
  EXPECT_EQ(missing_events(model_, {5, 2}), 0);
}

TEST_F(EventLoadingTest, OthersStopAtTheBudgetAndMakeRoom) {
  EXPECT_THAT(load_all({}, 3 * kTraceBytes), ElementsAre(0, 1, 2));
  EXPECT_THAT(load_all({6, 1}, 3 * kTraceBytes), ElementsAre(6)) << "in place of rank 2";
  EXPECT_TRUE(model_.ranks[0].events->loaded);
  EXPECT_TRUE(model_.ranks[1].events->loaded);
  EXPECT_FALSE(model_.ranks[2].events->loaded);
}

TEST_F(EventLoadingTest, WhatDoesNotFitIsMissing) {
  EXPECT_THAT(load_all({0, 1, 2, 3}, 3 * kTraceBytes), ElementsAre(0, 1, 2));
  EXPECT_EQ(missing_events(model_, {0, 1, 2, 3}), 1);
  EXPECT_THAT(load_all({0, 1, 2, 3}, 10), IsEmpty()) << "nothing is given up in vain";
  EXPECT_TRUE(model_.ranks[2].events->loaded);
}

TEST_F(EventLoadingTest, WhatFailedIsNotTriedAgain) {
  EXPECT_THAT(load_all({3}, 100 * kTraceBytes, {3, 4}), ElementsAre(0, 1, 2, 5, 6, 7));
  EXPECT_EQ(missing_events(model_, {3}), 1);
}

TEST_F(EventLoadingTest, FiguresSayWhatTheyLack) {
  for (size_t r = 0; r < 6; ++r) load(r);
  EXPECT_EQ(without_events(model_), " · without 2 whose events are not loaded");
  EXPECT_EQ(without_events(model_, {5, 6}), " · without 1 whose events are not loaded");
  EXPECT_EQ(without_events(model_, {0, 5}), "");
}

TEST(EventsOfASession, ComeAndGoWhileItIsLookedAt) {
  const Model small = test::small_model();
  const SharedEvents events = small.ranks[2].events;
  Model model = test::small_model();
  for (RankModel& rank : model.ranks) rank.events = std::make_shared<const RankEvents>();
  Session session;
  session.viewport.resize(1000, 900);
  session.open(std::make_shared<const Model>(std::move(model)));
  const auto labels = [&] {
    std::string all;
    for (const Row& row : session.tracks.layout().rows) all += row.label + "\n";
    return all;
  };
  session.selecting.select_rank(2);
  EXPECT_THAT(labels(), HasSubstr("events not loaded"));
  EXPECT_THAT(range_title(session.model(), session.selecting, 1),
              HasSubstr("without 1 whose events are not loaded"));
  EXPECT_EQ(session.looked_at().front(), 2U);

  session.take_events(2, events);
  EXPECT_THAT(labels(), HasSubstr("main"));
  EXPECT_THAT(range_title(session.model(), session.selecting, 1), Not(HasSubstr("without")));
  ASSERT_TRUE(session.selecting.select("row:2/host_range/1").ok());
  ASSERT_TRUE(session.selecting.selection().slice);
  session.tracks.set_hover(
      Hover{.at = {5, 5}, .slice = session.selecting.selection().slice, .rank_index = 2});

  session.take_events(2, std::make_shared<const RankEvents>());
  EXPECT_FALSE(session.selecting.selection().slice);
  EXPECT_FALSE(session.tracks.hover());
  EXPECT_EQ(session.events.list().count, 0);
  EXPECT_FALSE(session.selecting.select("row:2/host_range/1").ok());
}

}  // namespace
}  // namespace dprof::view
