// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi/deal.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace dprof::cli {

std::vector<size_t> deal(std::span<const uint64_t> sizes, size_t hands, const Likes& likes) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](size_t i) { return sizes[i]; });
  const auto weight = [&](size_t piece) { return static_cast<double>(sizes[piece]) + 1; };
  double total = 0;
  for (const size_t piece : order) total += weight(piece);
  const double fair = 1.1 * total / static_cast<double>(hands);

  std::vector<double> has(hands, 0);
  std::vector<size_t> hand_of(sizes.size());
  for (const size_t piece : order) {
    size_t least = 0;
    std::optional<size_t> liking;
    for (size_t hand = 0; hand < hands; ++hand) {
      if (has[hand] < has[least]) least = hand;
      if (likes && likes(piece, hand) && (!liking || has[hand] < has[*liking])) liking = hand;
    }
    if (liking && has[*liking] + weight(piece) <= fair) least = *liking;
    hand_of[piece] = least;
    has[least] += weight(piece);
  }
  return hand_of;
}

}  // namespace dprof::cli
