// SPDX-License-Identifier: Apache-2.0
// Decides whether a level rises and never comes back (docs/analysis/memory.md).
#pragma once

#include <optional>
#include <vector>

namespace dprof::analyzer {

struct LeakFit {
  double slope = 0;    // per unit of x
  double bound = 0;    // half-width of the 95 % interval
  double rise = 0;     // between 20 % and 80 % of the points
  double first_x = 0;  // of these points
  double last_x = 0;
};

struct LeakRule {
  size_t fewest = 20;              // points
  double smallest_share = 0.0015;  // of the level
  double smallest_rise = 4e6;
};

// `x` ascending, with a y for each. The retained level is the right envelope, min over later y. It
// leaks if it rises by more than the noise and the rule's smallest rise, not in one jump, and in
// both halves. Slope by Theil and Sen, its bound by block bootstrap, deterministic. nullopt = no
// leak. O(n^2) for a leak, else O(n log n), with n at most 240: more points are merged.
[[nodiscard]] std::optional<LeakFit> fit_leak(const std::vector<double>& x,
                                              const std::vector<double>& y,
                                              const LeakRule& rule = {});

}  // namespace dprof::analyzer
