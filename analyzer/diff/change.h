// SPDX-License-Identifier: Apache-2.0
// The change of the step's length between two sets of runs, and how certain it is. Steps of a run
// depend on each other, and runs differ by themselves: both widen the interval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dprof::analyzer {

// Fewer ordinary steady steps than this say nothing of how far the others may lie.
inline constexpr size_t kFewestLengths = 10;

// Of one run.
struct MedianStep {
  double ns = 0;
  size_t steps = 0;
  double block = 1;   // mean length of a block of steps that belong together
  double log_sd = 0;  // standard deviation of the logarithm of the median
};

// Stationary bootstrap (Politis and Romano 1994) of the median: blocks are twice the integrated
// autocorrelation time of the steps' ranks. What the medians of parts of the run differ beyond that
// is drift, and counts in full: a run that wanders within itself would, too, have come out
// otherwise as a whole. Deterministic. O(400 * steps).
[[nodiscard]] MedianStep median_step_of(std::span<const int64_t> lengths_ns);

// 1 + 2 * the sum of the autocorrelations of the ranks of `values`, up to the first that is not
// above chance.
[[nodiscard]] double autocorrelation_time(std::span<const int64_t> values);

struct StepChange {
  double a_ns = 0;  // geometric mean of the runs' medians
  double b_ns = 0;
  double change = 0;  // b / a - 1
  double least = 0;   // 95 % interval of `change`
  double most = 0;
  double half_width = 0;  // of it, in the logarithm
  size_t runs_a = 0;
  size_t runs_b = 0;
  double within_sd = 0;   // standard deviation of one run's median, as its steps tell; relative
  double between_sd = 0;  // as the runs of a side tell; 0 = one run on each side

  [[nodiscard]] bool single() const { return runs_a == 1 && runs_b == 1; }
  // The smallest true slow-down that would be found to exceed `tolerance` 95 times of 100.
  [[nodiscard]] double detectable(double tolerance) const;
};

// Where a side has one run and nothing tells how runs differ, 0.5 % is taken for it.
inline constexpr double kUnknownRunSpread = 0.005;

// There is at least one run on each side. With several, their spread counts (in a t
// interval; what the steps tell and kUnknownRunSpread stand for one run more), else these two
// alone.
[[nodiscard]] StepChange change_of(std::span<const MedianStep> a, std::span<const MedianStep> b);

}  // namespace dprof::analyzer
