// SPDX-License-Identifier: Apache-2.0
// What a selected event led to, on its rank and on others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/draw_session.h"
#include "gui/view/model/result_track.h"
#include "gui/view/model/test_support/test_model.h"
#include "gui/view/panels.h"
#include "gui/view/session/session.h"
#include "gui/view/timeline/timeline_view.h"

namespace dprof::view {
namespace {

using test::kMs;
using ::testing::HasSubstr;
using ::testing::Not;

class SessionFlowTest : public ::testing::Test {
 protected:
  // The small run, with the all-reduces of ranks `from` and `to` replaced by messages.
  Model with_messages(int from, int to) {
    Model model = test::small_model();
    for (uint32_t m = 0; m < model.collectives.size(); ++m) {
      const std::vector<analyzer::CollectiveMember>& members = model.collectives[m].members;
      model.messages.push_back({.communicator = "0",
                                .from = from,
                                .to = to,
                                .bytes = 1'000'000,
                                .transfer_ns = 10 * kMs,
                                .send = members[static_cast<size_t>(from)],
                                .receive = members[static_cast<size_t>(to)]});
      for (const int rank : {from, to})
        model.ranks[static_cast<size_t>(rank)].message_of_row[m + 1] = m;
    }
    model.collectives.clear();
    for (RankModel& rank : model.ranks) rank.collective_of_row.clear();
    return model;
  }
  void open(Model model) {
    session.viewport.resize(1000, 600);
    session.open(std::make_shared<const Model>(std::move(model)));
    session.selecting.clear();
  }
  void select(std::string_view selector) {
    ASSERT_TRUE(session.selecting.select(selector).ok()) << selector;
    session.take_flow(*session.selecting.selection().slice, {});
  }
  [[nodiscard]] std::string selected() const {
    return selector_of(session.model(), *session.selecting.selection().slice);
  }
  [[nodiscard]] std::string overlay() const {
    return to_text(draw_overlay(session, 1000, 600, measure));
  }
  [[nodiscard]] std::string details() const {
    return to_text(draw_details(session.model(), session.selecting, session.flow, {{"row", "1"}},
                                600, 600, measure)
                       .list);
  }
  [[nodiscard]] int64_t bands() const {
    const DrawList list = draw_overlay(session, 1000, 600, measure);
    return std::ranges::count_if(list.commands(), [](const Command& command) {
      return command.kind == CommandKind::kRect && command.role == Role::kAccent &&
             command.tint > 0;
    });
  }

  Session session;
  FixedTextMeasure measure;
};

TEST_F(SessionFlowTest, AMessageLeadsToItsOtherSideAndBack) {
  open(with_messages(0, 1));
  select("row:0/collective/2");
  ASSERT_EQ(session.flow.messages().size(), 1U);
  EXPECT_EQ(session.flow.places().size(), 2U);
  EXPECT_THAT(overlay(), HasSubstr("polyline"));
  EXPECT_EQ(bands(), 0) << "the ranks share a clock";
  EXPECT_THAT(details(), HasSubstr("rank 0 → rank 1, 1.00 MB"));
  EXPECT_THAT(details(), Not(HasSubstr("clocks agree")));
  ASSERT_TRUE(session.walk.next_in_flow(1));
  EXPECT_EQ(selected(), "row:1/collective/2");
  EXPECT_EQ(session.flow.messages().size(), 1U) << "it is the flow of both sides";
  EXPECT_FALSE(session.walk.next_in_flow(1));
  ASSERT_TRUE(session.walk.next_in_flow(-1));
  EXPECT_EQ(selected(), "row:0/collective/2");
  session.selecting.clear();
  EXPECT_TRUE(session.flow.messages().empty());
}

TEST_F(SessionFlowTest, WhereTheClocksAgreeLessThanPixelsALineIsABand) {
  open(with_messages(0, 2));
  select("row:0/collective/2");
  EXPECT_EQ(bands(), 0) << "14 us are less than a pixel";
  EXPECT_THAT(details(), HasSubstr("± 14.0 µs"));
  const Interval close{TraceNs{(100 + 50) * kMs}, TraceNs{(100 + 50) * kMs + 200'000}};
  session.viewport.show(close);
  EXPECT_GT(bands(), 0);
  Model unknown = with_messages(0, 2);
  unknown.clocks = {};
  open(std::move(unknown));
  select("row:0/collective/2");
  session.viewport.show(close);
  EXPECT_EQ(bands(), 0);
  EXPECT_THAT(details(), HasSubstr("clock bound unknown"));
}

TEST_F(SessionFlowTest, AMessageWhoseOtherRankIsFoldedLeadsToItsBar) {
  Model model = with_messages(0, 1);
  model.ranks[1].events = std::make_shared<const RankEvents>();  // nor are its events loaded
  open(std::move(model));
  select("row:0/collective/2");
  EXPECT_TRUE(session.flow.places().empty()) << "there is nothing to walk to";
  const int bar =
      session.tracks.y_of(*session.tracks.layout().of_rank(1)) + kBarTop + kBarHeight / 2;
  EXPECT_THAT(overlay(), HasSubstr("," + std::to_string(bar) + " accent"));
}

TEST_F(SessionFlowTest, TheOtherSideIsFoundWhenItsEventsCome) {
  Model model = with_messages(0, 1);
  const SharedEvents events = model.ranks[1].events;
  model.ranks[1].events = std::make_shared<const RankEvents>();
  open(std::move(model));
  select("row:0/collective/2");
  ASSERT_TRUE(session.flow.places().empty());
  session.take_events(1, events);
  EXPECT_EQ(session.flow.places().size(), 2U);
}

TEST_F(SessionFlowTest, AMessageOfOneSideSaysSo) {
  Model model = with_messages(0, 1);
  for (analyzer::MatchedMessage& message : model.messages) message.receive.reset();
  open(std::move(model));
  select("row:0/collective/2");
  EXPECT_THAT(details(), HasSubstr("the other side was not recorded"));
  EXPECT_TRUE(session.flow.places().empty());
}

// Like a kernel's: its trace names the collective to which it belongs.
TEST_F(SessionFlowTest, TheCollectiveAmongWhatItLedToIsSelected) {
  open(test::small_model());
  ASSERT_TRUE(session.selecting.select("row:1/host_range/12").ok());
  EXPECT_FALSE(session.selecting.selection().collective);
  session.take_flow(*session.selecting.selection().slice, {{"collective", 2}});
  EXPECT_EQ(session.selecting.selection().collective, 1U);
  EXPECT_THAT(overlay(), HasSubstr("last: rank 2"));
  ASSERT_TRUE(session.walk.next_arrival(1));
  EXPECT_EQ(selected(), "row:2/collective/2") << "the next to arrive after rank 1";
}

TEST_F(SessionFlowTest, OfMoreEventsTheFirstAreShownAndThatIsSaid) {
  open(test::small_model());
  ASSERT_TRUE(session.selecting.select("row:1/host_range/1").ok());
  std::vector<analyzer::RelatedRow> rows;
  for (int64_t row = 2; row <= 4; ++row) rows.push_back({"host_range", row});
  session.take_flow(*session.selecting.selection().slice, rows);
  EXPECT_FALSE(session.flow.is_cut());
  EXPECT_EQ(session.flow.places().size(), 4U);
  while (rows.size() <= kMostInFlow) rows.push_back({"host_range", 11});
  session.take_flow(*session.selecting.selection().slice, rows);
  EXPECT_TRUE(session.flow.is_cut());
  EXPECT_THAT(details(), HasSubstr("first 20 of more"));
}

TEST_F(SessionFlowTest, ArrivalsThatCannotBeOrderedAreABand) {
  open(test::small_model());
  session.selecting.select_collective(1);
  const auto bands_of = [&] {
    const DrawList list = draw_overlay(session, 1000, 600, measure);
    return std::ranges::count_if(list.commands(), [](const Command& command) {
      return command.kind == CommandKind::kRect && command.role == Role::kProblem &&
             command.tint > 0;
    });
  };
  EXPECT_EQ(bands_of(), 0);
  EXPECT_THAT(overlay(), Not(HasSubstr("last to arrive unknown")));
  Model unknown = test::small_model();
  unknown.collectives[1].last_arriver.reset();
  open(std::move(unknown));
  session.selecting.select_collective(1);
  EXPECT_THAT(overlay(), HasSubstr("last to arrive unknown: clocks agree to ± 14.0 µs"));
  session.viewport.show({TraceNs{180 * kMs - 100'000}, TraceNs{180 * kMs + 100'000}});
  EXPECT_GT(bands_of(), 0);
}

}  // namespace
}  // namespace dprof::view
