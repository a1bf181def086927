// SPDX-License-Identifier: Apache-2.0
#include "analyzer/compare/rank_matrix.h"

#include <gtest/gtest.h>

namespace dprof::analyzer {
namespace {

MatchedCollective collective(std::string communicator, std::optional<int> last,
                             std::vector<int64_t> waits) {
  MatchedCollective one{.communicator = std::move(communicator), .last_arriver = last};
  for (const int64_t wait_ns : waits)
    one.members.push_back({.rank = static_cast<int>(one.members.size()), .wait_ns = wait_ns});
  return one;
}

MatchedMessage message(int from, int to, std::optional<int64_t> bytes,
                       std::optional<int64_t> transfer_ns, int64_t receiver_waits) {
  return {.communicator = "pp",
          .from = from,
          .to = to,
          .bytes = bytes,
          .transfer_ns = transfer_ns,
          .send = CollectiveMember{.rank = from},
          .receive = CollectiveMember{.rank = to, .wait_ns = receiver_waits}};
}

TEST(RankMatrixTest, MembersWaitForTheLastOne) {
  const auto matrices =
      rank_matrices(std::vector{collective("dp", 2, {30, 10, 0}), collective("dp", 2, {20, 0, 0}),
                                collective("dp", 0, {0, 5, 7})},
                    {});
  ASSERT_EQ(matrices.size(), 1U);
  const std::vector<PairWait>& waits = matrices[0].waits;
  ASSERT_EQ(waits.size(), 4U);
  EXPECT_EQ(waits[0].pair, (RankPair{0, 2}));
  EXPECT_EQ(waits[0].ns, 50);
  EXPECT_EQ(waits[0].times, 2);
  EXPECT_EQ(waits[0].longest_ns, 30);
  EXPECT_EQ(waits[1].pair, (RankPair{1, 0}));
  EXPECT_EQ(waits[2].pair, (RankPair{1, 2}));
  EXPECT_EQ(waits[2].times, 1) << "where it did not wait it is not counted";
  EXPECT_EQ(waits[3].pair, (RankPair{2, 0}));
  EXPECT_TRUE(matrices[0].traffic.empty()) << "bytes between two ranks of a collective: not known";
}

TEST(RankMatrixTest, MessagesAddUpPerDirection) {
  const auto matrices = rank_matrices(
      {}, std::vector{message(0, 1, 1000, 10, 3), message(0, 1, 3000, 30, 0),
                      message(1, 0, 500, std::nullopt, 0), message(0, 1, std::nullopt, 50, 1)});
  ASSERT_EQ(matrices.size(), 1U);
  const std::vector<PairTraffic>& traffic = matrices[0].traffic;
  ASSERT_EQ(traffic.size(), 2U);
  EXPECT_EQ(traffic[0].pair, (RankPair{0, 1}));
  EXPECT_EQ(traffic[0].messages, 3);
  EXPECT_EQ(traffic[0].bytes, 4000);
  EXPECT_EQ(traffic[0].without_size, 1);
  EXPECT_EQ(traffic[0].timed, 2) << "bandwidth needs a size and a time of the same messages";
  EXPECT_DOUBLE_EQ(traffic[0].bandwidth().value_or(0), 4000 / 40e-9);
  EXPECT_EQ(traffic[1].pair, (RankPair{1, 0}));
  EXPECT_EQ(traffic[1].bandwidth(), std::nullopt);
  ASSERT_EQ(matrices[0].waits.size(), 1U);
  EXPECT_EQ(matrices[0].waits[0].pair, (RankPair{1, 0})) << "the receiver waited for the sender";
  EXPECT_EQ(matrices[0].waits[0].ns, 4);
}

TEST(RankMatrixTest, WhatIsNotKnownIsCountedAndNotGuessed) {
  MatchedMessage lone = message(0, 1, 100, std::nullopt, 0);
  lone.to.reset();
  const auto matrices =
      rank_matrices(std::vector{collective("dp", std::nullopt, {9, 9})}, std::vector{lone});
  ASSERT_EQ(matrices.size(), 2U);
  EXPECT_EQ(matrices[0].communicator, "dp");
  EXPECT_EQ(matrices[0].not_compared, 1);
  EXPECT_TRUE(matrices[0].waits.empty());
  EXPECT_EQ(matrices[1].unknown_peer, 1);
  EXPECT_TRUE(matrices[1].traffic.empty());
}

}  // namespace
}  // namespace dprof::analyzer
