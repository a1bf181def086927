// SPDX-License-Identifier: Apache-2.0
// How ranks differ, where there are too many for a line each: of each part of their mean steady
// step the best, the worst and what lies between.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gui/view/model/model.h"

namespace dprof::view {

struct RankSpread {
  std::string title;  // "step", "own delay", a category
  // Per step and rank, as the report and the breakdown have it; p10 and p90 are values of ranks.
  int64_t best_ns = 0;
  int64_t p10_ns = 0;
  int64_t median_ns = 0;
  int64_t p90_ns = 0;
  int64_t worst_ns = 0;
  int worst_rank = 0;                             // of several the first
  std::vector<std::pair<int, int64_t>> culprits;  // rank and value
};

// The step, own delay where ranks were compared, then the categories that some rank has a visible
// part of; phases with what they compute beside communication. Empty without a breakdown.
// O(ranks log ranks).
[[nodiscard]] std::vector<RankSpread> rank_spreads(const Model& model);

// What all of them can be drawn on: the largest distance from a median, and no less than could be
// noticed at all, so that noise does not look like a difference.
[[nodiscard]] int64_t scale_of(const Model& model, const std::vector<RankSpread>& spreads);

}  // namespace dprof::view
