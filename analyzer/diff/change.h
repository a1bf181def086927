// SPDX-License-Identifier: Apache-2.0
// The change of the step's length between two sets of runs, with its uncertainty. Steps of a run
// depend on each other, and runs of a program differ: both widen the interval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace dprof::analyzer {

// With fewer ordinary steady steps the spread of the others is unknown.
inline constexpr size_t kFewestLengths = 10;

// For one run.
struct MedianStep {
  double ns = 0;
  size_t steps = 0;
  double block = 1;   // mean length of a block of dependent steps
  double log_sd = 0;  // standard deviation of the logarithm of the median
  // Degrees of freedom of `log_sd`: few if drift, known from a few parts of the run, makes it.
  double freedom = std::numeric_limits<double>::infinity();
};

// Stationary bootstrap (Politis and Romano 1994) of the median: blocks are twice the integrated
// autocorrelation time of the steps' ranks. Differences between the medians of parts of the run
// beyond that are drift, and count in full: a run that drifts within itself would also have had
// another overall result if repeated. Deterministic. O(400 * steps).
[[nodiscard]] MedianStep median_step_of(std::span<const int64_t> lengths_ns);

// 1 + 2 * the sum of the autocorrelations of the ranks of `values`, up to the first that is not
// above chance.
[[nodiscard]] double autocorrelation_time(std::span<const int64_t> values);

struct StepChange {
  double a_ns = 0;  // geometric mean of the runs' medians
  double b_ns = 0;
  double change = 0;  // b / a - 1
  double least = 0;  // 98 % interval of `change`: chance alone puts one of 100 equal programs above
  double most = 0;   // it, and one below
  double half_width = 0;  // of it, in the logarithm
  size_t runs_a = 0;
  size_t runs_b = 0;
  double within_sd = 0;   // estimated from the steps of one run, for its median; relative
  double between_sd = 0;  // estimated from the runs of a side; 0 = one run on each side

  [[nodiscard]] bool single() const { return runs_a == 1 && runs_b == 1; }
  // The smallest true slow-down that would be found to exceed `tolerance` in 95 of 100 cases.
  [[nodiscard]] double detectable(double tolerance) const;
};

// If a side has one run, the spread between runs is unknown. Assumed: 0.5 %, and 1.5 times what the
// steps of one run let expect, the median of 60 equal pairs of real runs (docs/ci.md).
inline constexpr double kUnknownRunSpread = 0.005;
inline constexpr double kRunsBeyondSteps = 1.5;

// Each side has at least one run. With several, their spread counts (in a t interval; the assumed
// spread counts as one more run); otherwise only the assumed one.
[[nodiscard]] StepChange change_of(std::span<const MedianStep> a, std::span<const MedianStep> b);

}  // namespace dprof::analyzer
