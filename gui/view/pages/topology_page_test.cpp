// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/topology_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/model/test_support/test_model.h"
#include "gui/view/session/session.h"

namespace dprof::view {
namespace {

using test::kMs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kHostRanks = 4;

analyzer::MatchedCollective collective_of(const std::string& name, const std::vector<int>& ranks,
                                          int last, int64_t wait_ns) {
  analyzer::MatchedCollective one{.communicator = name, .complete = true, .last_arriver = last};
  for (const int rank : ranks)
    one.members.push_back(
        {.rank = rank, .row = 1, .start = TraceNs{kMs}, .wait_ns = rank == last ? 0 : wait_ns});
  return one;
}

// 32 ranks: 4 tensor × 8 data. Rank 13 delays its tensor group, and that delays the data groups.
Model grid_model() {
  Model small = test::small_model();
  analyzer::Run run{.name = "grid"};
  analyzer::Analysis analysis{.report = small.report};
  analysis.report.stragglers = {{.rank = 13, .own_delay_ns = 9 * kMs}};
  for (int rank = 0; rank < 32; ++rank) {
    run.traces.push_back({.rank = rank, .host = fmt::format("node-{}", rank / kHostRanks)});
    analyzer::RankAnalysis of{.rank = rank};
    of.steps = small.ranks[0].steps;
    for (const analyzer::StepWindow& step : of.steps)
      of.own_delays.push_back({step.index, rank == 13 ? 9 * kMs : 0});
    analysis.ranks.push_back(std::move(of));
  }
  for (int d = 0; d < 8; ++d) {
    const int first = 4 * d;
    const bool guilty = d == 3;
    analysis.collectives.push_back(collective_of(fmt::format("tensor_{}", d),
                                                 {first, first + 1, first + 2, first + 3},
                                                 guilty ? 13 : first, guilty ? 24 * kMs : kMs));
  }
  for (int t = 0; t < 4; ++t) {
    std::vector<int> ranks;
    for (int d = 0; d < 8; ++d) ranks.push_back(4 * d + t);
    analysis.collectives.push_back(
        collective_of(fmt::format("data_{}", t), ranks, 12 + t, 12 * kMs));
  }
  return build_model(std::move(run), std::move(analysis), {});
}

class TopologyPageTest : public ::testing::Test {
 protected:
  TopologyPageTest() { open(grid_model()); }
  void open(Model model) {
    session.open(std::make_shared<const Model>(std::move(model)));
    session.selecting.clear();
  }
  [[nodiscard]] Panel page() {
    return draw_topology_page(session.model(), session.grid, session.selecting, 1400, 600, measure);
  }
  [[nodiscard]] std::string text() { return to_text(page().list); }

  FixedTextMeasure measure;
  Session session;
};

TEST_F(TopologyPageTest, ShowsTheGridAndTheCulpritByName) {
  EXPECT_THAT(text(), HasSubstr("32 ranks: 4 tensor × 8 data"));
  EXPECT_THAT(text(), ::testing::ContainsRegex("text [0-9 ]+ problem \"rank 13\""));
  EXPECT_THAT(text(), ::testing::ContainsRegex("text [0-9 ]+ problem \"tensor 1\""));
  EXPECT_THAT(text(), ::testing::ContainsRegex("rect [0-9 ]+ problem\n"));
}

// In three steps: 24 ms for three of four ranks is 6 ms per rank and step.
TEST_F(TopologyPageTest, SaysInWhichCommunicatorIsWaitedLongest) {
  EXPECT_THAT(text(), HasSubstr("tensor_3, ranks 12 to 15"));
  EXPECT_EQ(session.grid.waits()[0][3], 6 * kMs);
  EXPECT_EQ(session.grid.waits()[0][0], kMs / 4);
  EXPECT_EQ(session.grid.waits()[1][0], 12 * kMs * 7 / 8 / 3);
}

TEST_F(TopologyPageTest, EachRankHasACellAndAClickSelectsIt) {
  std::set<int> ranks;
  for (const Link& link : page().links) {
    if (!link.shows) continue;
    link.follow();
    ranks.insert(session.selecting.selection().ranks.front());
  }
  EXPECT_EQ(ranks.size(), 32U);
}

TEST_F(TopologyPageTest, AClickOnACommunicatorSelectsItsRanks) {
  const Panel now = page();
  now.links.back().follow();
  EXPECT_EQ(session.selecting.selection().ranks.size(), 8U) << "the data group waited in longest";
}

TEST_F(TopologyPageTest, NothingShoutsWhereAllIsWell) {
  Model model = grid_model();
  model.report.stragglers = std::vector<analyzer::Straggler>();
  model.report.detection = analyzer::Detection{.floor_ns = 30 * kMs};
  open(std::move(model));
  EXPECT_THAT(text(), Not(HasSubstr("problem")));
  session.grid.show(GridMeasure::kOwnDelay);
  EXPECT_EQ(session.grid.values().low_ns, 30 * kMs) << "what nobody could notice is pale";
}

TEST_F(TopologyPageTest, WithoutGroupsItIsHostsAndTheirRanks) {
  Model model = grid_model();
  analyzer::Analysis analysis{.report = model.report};
  for (const RankModel& rank : model.ranks) analysis.ranks.push_back({.rank = rank.rank});
  open(build_model(model.run, std::move(analysis), {}));
  EXPECT_THAT(text(), HasSubstr("32 ranks: 4 device × 8 host"));
  EXPECT_THAT(text(), HasSubstr("rank 13"));
}

TEST_F(TopologyPageTest, WithoutAGridItSaysWhy) {
  open(test::small_model());
  EXPECT_THAT(text(), HasSubstr("No grid is known"));
}

}  // namespace
}  // namespace dprof::view
