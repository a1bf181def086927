// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/matrix_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/drawing/grid.h"
#include "gui/view/model/test_support/test_model.h"
#include "gui/view/session/session.h"

namespace dprof::view {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

analyzer::MatchedMessage message(int from, int to, int64_t bytes, int64_t transfer_ns,
                                 int64_t row) {
  return {.communicator = "pipeline",
          .from = from,
          .to = to,
          .bytes = bytes,
          .transfer_ns = transfer_ns,
          .send = analyzer::CollectiveMember{.rank = from, .row = row},
          .receive = analyzer::CollectiveMember{.rank = to, .row = row}};
}

class MatrixPageTest : public ::testing::Test {
 protected:
  void open(std::vector<analyzer::MatchedMessage> messages) {
    Model model = test::small_model();
    model.messages = std::move(messages);
    model.matrices = analyzer::rank_matrices(model.collectives, model.messages);
    session.open(std::make_shared<const Model>(std::move(model)));
  }
  [[nodiscard]] Panel page() {
    return draw_matrix_page(session.model(), session.pairs, session.selecting.selection(), 1300,
                            700, 0, measure);
  }
  [[nodiscard]] std::string text() { return to_text(page().list); }
  void click(std::string_view line) {
    const Panel drawn = page();
    for (const Command& command : drawn.list.commands()) {
      if (command.kind != CommandKind::kText || drawn.list.text_of(command) != line) continue;
      const auto link = std::ranges::find_if(drawn.links, [&](const Link& one) {
        return one.box.contains(command.box.x + 1, command.box.y + command.box.h / 2);
      });
      ASSERT_NE(link, drawn.links.end()) << line;
      link->follow();
      return;
    }
    FAIL() << "no text " << line;
  }

  FixedTextMeasure measure;
  Session session;
};

TEST_F(MatrixPageTest, WaitsAreOfThePairAndLeadToTheCollective) {
  open({});
  EXPECT_THAT(text(), HasSubstr("rank 0 waited for rank 2"));
  EXPECT_THAT(text(), HasSubstr("90.0 ms")) << "three steps of 30 ms";
  EXPECT_THAT(text(), HasSubstr("3 waits"));
  EXPECT_THAT(text(), HasSubstr("clocks agree to ± 14.0 µs"));
  EXPECT_THAT(text(), Not(HasSubstr("all communicators"))) << "there is one";
  click("rank 0 waited for rank 2");
  EXPECT_THAT(session.selecting.selection().ranks, ElementsAre(0, 2));
  ASSERT_TRUE(session.selecting.selection().collective);
  EXPECT_EQ(session.model().collectives[*session.selecting.selection().collective].last_arriver, 2);
}

TEST_F(MatrixPageTest, MessagesHaveBytesTimeAndBandwidthPerDirection) {
  open({message(0, 1, 4'000'000, 2 * test::kMs, 1), message(0, 1, 4'000'000, 2 * test::kMs, 2),
        message(1, 0, 1'000'000, 1 * test::kMs, 3)});
  click("Bytes");
  EXPECT_THAT(text(), HasSubstr("rank 0 sent to rank 1"));
  EXPECT_THAT(text(), HasSubstr("8.00 MB"));
  EXPECT_THAT(text(), HasSubstr("2 messages"));
  EXPECT_THAT(text(), HasSubstr("is not recorded, so it is left out"))
      << "collectives' bytes are not invented";
  EXPECT_EQ(session.pairs.map().cells.front().pair, (analyzer::RankPair{0, 1}));
  click("Bandwidth");
  EXPECT_DOUBLE_EQ(session.pairs.map().cells.front().value, 2e9);
  EXPECT_DOUBLE_EQ(session.pairs.map().cells.back().value, 1e9);
  click("0");  // the communicators: the small run's collectives, and the messages
  EXPECT_THAT(text(), HasSubstr("No message between ranks"));
}

TEST_F(MatrixPageTest, WhatHasNoFigureIsCounted) {
  analyzer::MatchedMessage untimed = message(0, 1, 4'000'000, 0, 1);
  untimed.transfer_ns.reset();
  analyzer::MatchedMessage to_nobody = message(0, 1, 4'000'000, 5, 1);
  to_nobody.to.reset();
  open({untimed, to_nobody, message(1, 2, 10, 5, 1)});
  session.pairs.show({PairMeasure::kBandwidth, "pipeline"});
  EXPECT_EQ(session.pairs.map().cells.size(), 1U);
  EXPECT_THAT(text(), HasSubstr("2 messages are left out"));
  EXPECT_THAT(text(), HasSubstr("\"1 message\""));
}

TEST_F(MatrixPageTest, RanksWithoutATraceHaveARow) {
  open({message(0, 7, 10, 5, 1)});
  session.pairs.show({PairMeasure::kMessages, ""});
  EXPECT_THAT(session.pairs.map().ranks, ElementsAre(0, 1, 2, 7));
  click("rank 0 sent to rank 7");
  EXPECT_THAT(session.selecting.selection().ranks, ElementsAre(0, 7));
}

TEST_F(MatrixPageTest, AThousandRanksAreOneImage) {
  Model model = test::small_model();
  analyzer::CommunicatorMatrix all{.communicator = "world"};
  for (int rank = 0; rank < 1000; ++rank) {
    for (int peer = 0; peer < 20; ++peer)
      all.waits.push_back({.pair = {rank, peer}, .times = 1, .ns = rank + peer + 1});
  }
  model.matrices = {all};
  session.open(std::make_shared<const Model>(std::move(model)));
  const Panel drawn = page();
  EXPECT_LT(drawn.list.commands().size(), 1500U);
  const auto image = std::ranges::find(drawn.list.commands(), CommandKind::kImage, &Command::kind);
  ASSERT_NE(image, drawn.list.commands().end());
  const auto levels = drawn.list.levels_of(*image);
  EXPECT_EQ(*std::ranges::max_element(levels), 255) << "the highest pair is never hidden";
  EXPECT_THAT(to_text(drawn.list), HasSubstr("200 of 20,000 pairs are listed"));
}

TEST(LabelledPlaces, StandAtAnEvenStrideAndLeaveTheWantedOnesRoom) {
  const auto none = [](size_t) { return false; };
  EXPECT_THAT(labelled_places(4, 400, 20, none), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(labelled_places(64, 640, 24, none),
              ElementsAre(0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60));
  EXPECT_THAT(labelled_places(1000, 500, 24, none).size(), 20U) << "every 50th";
  const auto one = [](size_t place) { return place == 21; };
  EXPECT_THAT(labelled_places(64, 640, 24, one),
              ElementsAre(0, 5, 10, 15, 21, 25, 30, 35, 40, 45, 50, 55, 60));
  const auto all = [](size_t) { return true; };
  EXPECT_THAT(labelled_places(64, 640, 24, all).size(), 22U) << "no two overlap";
}

// Values below the detection floor are pale, as on Ranks × steps.
TEST_F(MatrixPageTest, OfManyHealthyRanksNoCellIsStrong) {
  Model model = test::small_model();
  for (int rank = 3; rank < 30; ++rank) {
    model.ranks.push_back(model.ranks.front());
    model.ranks.back().rank = rank;
  }
  const auto strongest = [&] {
    session.open(std::make_shared<const Model>(model));
    const Panel drawn = page();
    uint8_t most = 0;
    for (const Command& command : drawn.list.commands()) {
      if (command.kind != CommandKind::kImage) continue;
      for (const uint8_t level : drawn.list.levels_of(command)) most = std::max(most, level);
    }
    return most;
  };
  EXPECT_EQ(strongest(), 255) << "nothing is known of what could be noticed";
  model.report.detection = analyzer::Detection{.floor_ns = 100 * test::kMs};
  EXPECT_LT(strongest(), 70);
}

}  // namespace
}  // namespace dprof::view
