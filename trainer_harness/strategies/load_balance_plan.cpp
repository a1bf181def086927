// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/load_balance_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "trainer_harness/common/usage_error.h"

namespace dprof::trainer_harness {
namespace {

constexpr double kTowardsMeasured = 0.5;
constexpr double kLeastOfPresent = 0.5;
constexpr double kMostOfPresent = 2;

}  // namespace

std::vector<int64_t> divide_samples(int64_t total, const std::vector<double>& weights) {
  const auto ranks = static_cast<int64_t>(weights.size());
  if (total < ranks) {
    throw UsageError("a global batch of " + std::to_string(total) +
                     " samples cannot be divided among " + std::to_string(ranks) +
                     " ranks\nhint: give a larger --batch or --global-batch");
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int64_t> parts;
  std::vector<double> left_over;  // lost by rounding down
  for (const double weight : weights) {
    const double exact = static_cast<double>(total) * weight / sum;
    parts.push_back(std::max<int64_t>(1, static_cast<int64_t>(exact)));
    left_over.push_back(exact - static_cast<double>(parts.back()));
  }
  // One sample at a time, to the rank with the largest deficit or from that with most excess.
  for (int64_t missing = total - std::accumulate(parts.begin(), parts.end(), int64_t{0});
       missing != 0; missing += missing > 0 ? -1 : 1) {
    const int64_t change = missing > 0 ? 1 : -1;
    size_t best = parts.size();
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] + change < 1) continue;
      if (best == parts.size() || left_over[i] * static_cast<double>(change) >
                                      left_over[best] * static_cast<double>(change)) {
        best = i;
      }
    }
    parts[best] += change;
    left_over[best] -= static_cast<double>(change);
  }
  return parts;
}

std::vector<int64_t> rebalanced(const std::vector<int64_t>& present,
                                const std::vector<RankSpeed>& measured) {
  const auto total =
      static_cast<double>(std::accumulate(present.begin(), present.end(), int64_t{0}));
  double all_speeds = 0;
  for (const RankSpeed& speed : measured) {
    if (speed.samples <= 0 || speed.seconds <= 0) return present;  // no measurement
    all_speeds += speed.samples / speed.seconds;
  }
  std::vector<double> moves;
  double part = kTowardsMeasured;  // of the way; the same for all ranks, which keeps the sum
  for (size_t i = 0; i < present.size(); ++i) {
    const auto now = static_cast<double>(present[i]);
    moves.push_back(total * (measured[i].samples / measured[i].seconds) / all_speeds - now);
    const double most = moves[i] > 0 ? (kMostOfPresent - 1) * now : (1 - kLeastOfPresent) * now;
    if (std::abs(moves[i]) * part > most) part = most / std::abs(moves[i]);
  }
  std::vector<double> wanted;
  for (size_t i = 0; i < present.size(); ++i) {
    wanted.push_back(static_cast<double>(present[i]) + part * moves[i]);
  }
  return divide_samples(static_cast<int64_t>(total), wanted);
}

}  // namespace dprof::trainer_harness
