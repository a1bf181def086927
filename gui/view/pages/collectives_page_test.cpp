// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/collectives_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/model/test_support/test_model.h"
#include "gui/view/session/session.h"

namespace dprof::view {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CollectivesPageTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string text(int top = 0) {
    return to_text(draw_collectives(session.model(), session.collectives, session.selecting, 1300,
                                    400, top, measure)
                       .list);
  }
  // The small run with this many collectives; later ones have longer waits.
  void open_many(int count) {
    Model model = test::small_model();
    const analyzer::MatchedCollective one = model.collectives.front();
    model.collectives.clear();
    for (int64_t i = 0; i < count; ++i) {
      model.collectives.push_back(one);
      model.collectives.back().sequence = i;
      for (analyzer::CollectiveMember& member : model.collectives.back().members) {
        member.wait_ns = i * 1000;
        member.start = TraceNs{i * 1'000'000};
        member.end = TraceNs{i * 1'000'000 + 500'000};
      }
    }
    session.open(std::make_shared<const Model>(std::move(model)));
  }

  FixedTextMeasure measure;
  Session session;
};

TEST_F(CollectivesPageTest, ALineSaysWhoWaitedForWhom) {
  session.open(test::shared_small_model());
  EXPECT_THAT(text(), HasSubstr("all_reduce #1"));
  EXPECT_THAT(text(), HasSubstr("rank 2"));
  EXPECT_THAT(text(), HasSubstr("30.0 ms"));
  EXPECT_THAT(text(), HasSubstr("25.0 MB"));
  EXPECT_THAT(text(), HasSubstr("GB/s"));
  EXPECT_EQ(arrival_spread(session.model().collectives.front()), DurationNs{30 * test::kMs});
}

TEST_F(CollectivesPageTest, OnlyLinesInViewAreDrawn) {
  open_many(100'000);
  const Panel page = draw_collectives(session.model(), session.collectives, session.selecting, 1300,
                                      400, 50'000, measure);
  EXPECT_GT(page.height, 100'000 * 20);
  EXPECT_LT(page.list.commands().size(), 500U);
  const auto link_at = [&](int y) {
    return std::ranges::find_if(page.links, [&](const Link& l) { return l.box.contains(60, y); });
  };
  ASSERT_NE(link_at(50'200), page.links.end());
  link_at(50'200)->follow();
  ASSERT_TRUE(session.selecting.selection().collective);
  EXPECT_THAT(
      to_text(page.list),
      HasSubstr(fmt::format("all_reduce #{}\"", *session.selecting.selection().collective)));
  EXPECT_EQ(link_at(50'050), page.links.end()) << "the head";
}

TEST_F(CollectivesPageTest, OrdersPutTheLongestAndTheUnfinishedFirst) {
  open_many(3);
  EXPECT_THAT(sorted_collectives(session.model(), CollectiveOrder::kByTime, {}),
              ElementsAre(0U, 1U, 2U));
  EXPECT_THAT(sorted_collectives(session.model(), CollectiveOrder::kByWait, {}),
              ElementsAre(2U, 1U, 0U));
  Model model = test::small_model();
  model.collectives[2].complete = false;
  model.collectives[2].members[1].end.reset();
  session.open(std::make_shared<const Model>(std::move(model)));
  EXPECT_THAT(session.collectives.lines(), ElementsAre(2U, 0U, 1U));
  EXPECT_THAT(text(), HasSubstr("never completed"));
}

TEST_F(CollectivesPageTest, KindsAreSummedUpAndLeadToTheirCollectives) {
  Model model = test::small_model();
  const analyzer::MatchedCollective one = model.collectives.front();
  model.collectives = {one, one, one, one, one};
  for (int64_t i = 0; i < 4; ++i) {
    analyzer::MatchedCollective& large = model.collectives[static_cast<size_t>(i)];
    large.sequence = i;
    large.transfer_ns = (i + 1) * test::kMs;
    large.last_arriver = i == 0 ? 0 : 2;
    for (analyzer::CollectiveMember& member : large.members) member.wait_ns = 10 * test::kMs;
  }
  model.collectives[4].bytes = 8;
  model.collectives[4].transfer_ns = 1000;
  model.collectives[3].complete = false;
  session.open(std::make_shared<const Model>(std::move(model)));

  const std::vector<CollectiveGroup>& groups = session.collectives.groups();
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].count, 4);
  EXPECT_EQ(groups[0].incomplete, 1);
  EXPECT_EQ(groups[0].median_transfer_ns, 2 * test::kMs);
  EXPECT_EQ(groups[0].median_wait_ns, 10 * test::kMs);
  EXPECT_EQ(groups[0].total_ns, (3 * 10 + 1 + 2 + 3) * test::kMs);
  EXPECT_EQ(groups[0].last_arriver, 2);
  EXPECT_EQ(groups[0].times_last, 2);
  EXPECT_EQ(groups[1].kind.bytes, 8);

  session.collectives.group();
  const Panel page = draw_collectives(session.model(), session.collectives, session.selecting, 1300,
                                      400, 0, measure);
  EXPECT_THAT(to_text(page.list), HasSubstr("4, 1 never completed"));
  EXPECT_THAT(to_text(page.list), HasSubstr("rank 2, 2 of 3"));
  EXPECT_THAT(to_text(page.list), HasSubstr("36.0 ms"));
  page.links[1].follow();
  EXPECT_EQ(session.collectives.kind(), groups[1].kind);
  EXPECT_THAT(session.collectives.lines(), ElementsAre(4U));
  EXPECT_THAT(text(), HasSubstr("× all_reduce"));
  session.collectives.show_kind(std::nullopt);
  EXPECT_EQ(session.collectives.lines().size(), 5U);
}

TEST_F(CollectivesPageTest, TheRanksOfACommunicatorArePinned) {
  session.open(test::shared_small_model());
  session.selecting.clear();
  EXPECT_TRUE(view::tracks_of_communicator(session.model(), session.selecting.selection()).empty());
  session.selecting.select_collective(1);
  EXPECT_THAT(view::tracks_of_communicator(session.model(), session.selecting.selection()),
              ElementsAre("rank:0", "rank:1", "rank:2"));
}

TEST_F(CollectivesPageTest, WithoutCollectivesItSaysWhereToLook) {
  Model model = test::small_model();
  model.collectives.clear();
  for (RankModel& rank : model.ranks) rank.collective_of_row.clear();
  session.open(std::make_shared<const Model>(std::move(model)));
  EXPECT_THAT(text(), HasSubstr("No collective was recorded"));
}

}  // namespace
}  // namespace dprof::view
