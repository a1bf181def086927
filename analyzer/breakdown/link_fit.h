// SPDX-License-Identifier: Apache-2.0
// The cost of a transfer as a function of size: transfer = alpha + beta * bytes
// (docs/analysis/communication.md).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/match/match.h"

namespace dprof::analyzer {

struct SizedTransfers {
  int64_t bytes = 0;
  std::vector<int64_t> transfers_ns;
};

struct LinearCost {
  double alpha_ns = 0;          // >= 0
  double beta_ns_per_byte = 0;  // > 0
  double residual = 0;          // median over sizes of |measured - fitted| / measured
  int64_t sizes = 0;
  int64_t n = 0;
};

inline constexpr size_t kFewestSizes = 3;
inline constexpr int64_t kLeastSizeRatio = 8;  // largest size / smallest size
inline constexpr size_t kFewestTransfersOfSize = 3;

// The requirements of a fit. Two sizes make a line, but do not show how well it fits.
struct FitLimits {
  size_t sizes = kFewestSizes;
  int64_t ratio = kLeastSizeRatio;
};
inline constexpr FitLimits kTwoSizes{.sizes = 2, .ratio = 2};

// Theil-Sen through the 10th percentile of each size's transfers: the fast ones, which were not
// held up. nullopt: too few sizes with enough transfers, sizes too close to each other, or larger
// ones do not take longer. O(sizes^2 + n log n).
[[nodiscard]] std::optional<LinearCost> fit_cost(std::span<const SizedTransfers> sizes,
                                                 const FitLimits& limits = {});

// By group and function; messages count as kSend. Guessed transfers do not count.
using GroupFunction = std::pair<size_t, schema::Function>;
[[nodiscard]] std::map<GroupFunction, LinearCost> fit_costs(const Matching& matching,
                                                            const FitLimits& limits = {});

}  // namespace dprof::analyzer
