// SPDX-License-Identifier: Apache-2.0
// Robust statistics: medians and the like, which a few outliers do not shift.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dprof {

// Quantiles of the normal distribution: of a two-sided 95 % and 98 % interval, of a one-sided 95 %
// bound. Each end of a 98 % interval is a one-sided 99 % bound.
inline constexpr double kTwoSided95 = 1.96;
inline constexpr double kTwoSided98 = 2.326;
inline constexpr double kOneSided95 = 1.645;

// Median; the lower and upper middle are averaged. 0 for no values: callers check for that first.
[[nodiscard]] double median(std::vector<double> values);
[[nodiscard]] int64_t median_ns(std::vector<int64_t> values);
[[nodiscard]] std::optional<int64_t> median_if_any(std::vector<int64_t> values);

// 1.4826 * median(|x - median|): estimates the standard deviation of a normal distribution and
// ignores outliers.
[[nodiscard]] double mad_n(const std::vector<double>& values);

// median() and mad_n() of some values without one of them: O(n log n) once, then O(log n) each.
class LeaveOneOut {
 public:
  explicit LeaveOneOut(std::vector<double> values);
  // `one` must be one of the values.
  [[nodiscard]] double median_without(double one) const;
  [[nodiscard]] double mad_n_without(double one) const;

 private:
  struct Around {
    double centre = 0;
    std::vector<double> distances;  // sorted
  };

  std::vector<double> sorted_;
  std::vector<Around> around_;  // for each median that can be left: three at most
};

// Linear interpolation between order statistics; q in 0…1. 0 for no values.
[[nodiscard]] double quantile(std::vector<double> values, double q);

// The value at place q in 0…1 of sorted values, where the i-th of n is at (i - 0.5) / n: fills a
// series from a shorter one. Needs at least one value.
[[nodiscard]] double quantile_of_sorted(std::span<const int64_t> sorted, double q);

// The lasting rise of a series: the position before which the cumulative sum of the deviations
// from the mean is lowest (CUSUM: Page, Biometrika 1954). 0 = it does not rise.
[[nodiscard]] size_t rise_point(std::span<const double> series);

// Rounds `values` to integers with the same (rounded) sum, each less than 1 from its value: the
// largest remainders are rounded up.
[[nodiscard]] std::vector<int64_t> rounded_to_sum(const std::vector<double>& values);

// Half-width of a bootstrap interval of the mean or median.
struct Estimate {
  double value = 0;
  double half_width = 0;  // of the 95 % interval
};

// 95 % percentile bootstrap of the mean of `values`, deterministic for a given seed. Half-width 0
// for n < 2.
[[nodiscard]] Estimate bootstrap_mean(const std::vector<double>& values, uint64_t seed = 1,
                                      int rounds = 400);

// The 95 % confidence interval of a share, given that a share `seen` (0…1) of the observations has
// the property: Wilson's score interval. 0 to 1 for no observations.
struct Bounds {
  double least = 0;
  double most = 1;
};
[[nodiscard]] Bounds bounds_of_share(double seen, double observations);

}  // namespace dprof
