// SPDX-License-Identifier: Apache-2.0
// The spread of ranks, if there are too many for a line each: for each part of their mean steady
// step the best, the worst and the distribution between.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gui/view/model/model.h"

namespace dprof::view {

struct RankSpread {
  std::string title;  // "step", "own delay", a category
  // Per step and rank, as in the report and the breakdown; p10 and p90 are actual ranks' values.
  int64_t best_ns = 0;
  int64_t p10_ns = 0;
  int64_t median_ns = 0;
  int64_t p90_ns = 0;
  int64_t worst_ns = 0;
  int worst_rank = 0;                             // the first of equals
  std::vector<std::pair<int, int64_t>> culprits;  // rank and value
};

// The step, own delay if ranks were compared, then the categories with a visible share on some
// rank; phases include what overlaps communication. Empty without a breakdown. O(ranks log ranks).
[[nodiscard]] std::vector<RankSpread> rank_spreads(const Model& model);

// A common scale: the largest distance from a median, but at least the detection floor, so that
// noise does not look like a difference.
[[nodiscard]] int64_t scale_of(const Model& model, const std::vector<RankSpread>& spreads);

}  // namespace dprof::view
