// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi/deal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace dprof::cli {
namespace {

std::vector<uint64_t> sums_of(const std::vector<uint64_t>& sizes, size_t hands,
                              const std::vector<size_t>& hand_of) {
  std::vector<uint64_t> sums(hands, 0);
  for (size_t i = 0; i < sizes.size(); ++i) sums.at(hand_of[i]) += sizes[i];
  return sums;
}

TEST(Deal, HandsDifferByOnePieceAtMost) {
  std::vector<uint64_t> sizes(1000);
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = 1000 + i * 7919 % 5000;
  for (const size_t hands : {1, 2, 3, 7, 64}) {
    const std::vector<uint64_t> sums = sums_of(sizes, hands, deal(sizes, hands));
    EXPECT_LE(std::ranges::max(sums) - std::ranges::min(sums), std::ranges::max(sizes)) << hands;
  }
}

TEST(Deal, EqualPiecesAreCounted) {
  const std::vector<uint64_t> sizes(10, 0);
  const std::vector<size_t> hand_of = deal(sizes, 3);
  EXPECT_EQ(std::ranges::count(hand_of, 0U), 4);
  EXPECT_EQ(std::ranges::count(hand_of, 2U), 3);
}

TEST(Deal, MoreHandsThanPieces) {
  const std::vector<uint64_t> sizes = {5, 5};
  EXPECT_EQ(deal(sizes, 5), (std::vector<size_t>{0, 1}));
  EXPECT_TRUE(deal({}, 5).empty());
}

TEST(Deal, WhoLikesAPieceGetsItUnlessItHasEnough) {
  const std::vector<uint64_t> sizes(8, 100);
  const auto odd_or_even = [](size_t piece, size_t hand) { return piece % 2 == hand; };
  const std::vector<size_t> hand_of = deal(sizes, 2, odd_or_even);
  for (size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(hand_of[i], i % 2);
  const std::vector<size_t> shared = deal(sizes, 2, [](size_t, size_t hand) { return hand == 1; });
  EXPECT_EQ(std::ranges::count(shared, 0U), 4);
}

}  // namespace
}  // namespace dprof::cli
