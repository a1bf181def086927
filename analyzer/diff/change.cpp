// SPDX-License-Identifier: Apache-2.0
#include "analyzer/diff/change.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr int kRounds = 400;
constexpr double kPriorRuns = 1;

double square(double x) { return x * x; }

double variance_of(const std::vector<double>& values, double mean) {
  double sum = 0;
  for (const double value : values) sum += square(value - mean);
  return values.size() < 2 ? 0 : sum / static_cast<double>(values.size() - 1);
}

double mean_of_values(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Ranks by size, equal values at their mean: an outlier counts only as the largest value.
std::vector<double> places_in_order(std::span<const int64_t> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return values[i]; });
  std::vector<double> places(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (size_t k = i; k < end; ++k) places[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return places;
}

double bootstrap_sd(std::span<const double> logs, double block) {
  std::mt19937_64 random(1);
  const size_t n = logs.size();
  const auto go_on = static_cast<uint64_t>((1 - 1 / block) * 4294967296.0);
  std::vector<double> medians(kRounds);
  std::vector<double> sample(n);
  for (double& one : medians) {
    size_t at = random() % n;
    for (double& value : sample) {
      value = logs[at];
      at = (random() >> 32) < go_on ? (at + 1) % n : random() % n;
    }
    one = median(sample);
  }
  return std::sqrt(variance_of(medians, mean_of_values(medians)));
}

size_t parts_of(size_t steps) { return steps >= 80 ? 8 : 4; }

// The variance of the medians of the run's parts beyond what their steps explain.
double drift_variance(std::span<const double> logs, double log_sd) {
  const size_t parts = parts_of(logs.size());
  std::vector<double> medians;
  for (size_t p = 0; p < parts; ++p) {
    const size_t begin = p * logs.size() / parts;
    const size_t end = (p + 1) * logs.size() / parts;
    medians.push_back(median({logs.begin() + static_cast<ptrdiff_t>(begin),
                              logs.begin() + static_cast<ptrdiff_t>(end)}));
  }
  const double of_steps = static_cast<double>(parts) * square(log_sd);
  return std::max(0.0, variance_of(medians, mean_of_values(medians)) - of_steps);
}

// 99 % quantile of Student's t; from 5 on by its expansion at the normal one, accurate to 0.02.
// One degree of freedom counts as two, the second being the prior's.
double t_quantile(double freedom) {
  if (freedom <= 2) return 6.965;
  if (freedom <= 3) return 4.541;
  if (freedom <= 4) return 3.747;
  const double z = kTwoSided98;
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  const double z7 = z5 * z * z;
  return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * square(freedom)) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * square(freedom) * freedom);
}

}  // namespace

double autocorrelation_time(std::span<const int64_t> values) {
  const size_t n = values.size();
  if (n < kFewestLengths) return 1;
  std::vector<double> x = places_in_order(values);
  const double mean = mean_of_values(x);
  for (double& one : x) one -= mean;
  double whole = 0;
  for (const double one : x) whole += one * one;
  if (whole <= 0) return 1;
  const double chance = kTwoSided95 / std::sqrt(static_cast<double>(n));
  double time = 1;
  for (size_t lag = 1; lag < n / 2; ++lag) {
    double sum = 0;
    for (size_t i = lag; i < n; ++i) sum += x[i] * x[i - lag];
    if (sum / whole <= chance) break;
    time += 2 * sum / whole;
  }
  return time;
}

MedianStep median_step_of(std::span<const int64_t> lengths_ns) {
  MedianStep step{.steps = lengths_ns.size()};
  std::vector<double> logs;
  for (const int64_t ns : lengths_ns) logs.push_back(std::log(static_cast<double>(ns)));
  step.ns = logs.empty() ? 0 : std::exp(median(logs));
  if (logs.size() < kFewestLengths) return step;
  const double most = std::max(1.0, static_cast<double>(logs.size()) / 4);
  step.block = std::clamp(2 * autocorrelation_time(lengths_ns) - 1, 1.0, most);
  const double sd = bootstrap_sd(logs, step.block);
  const double drift = drift_variance(logs, sd);
  const double variance = square(sd) + drift;
  step.log_sd = std::sqrt(variance);
  if (drift > 0)  // Satterthwaite 1946
    step.freedom = static_cast<double>(parts_of(logs.size()) - 1) * square(variance / drift);
  return step;
}

double StepChange::detectable(double tolerance) const {
  return std::exp(std::log1p(tolerance) + half_width * (1 + kOneSided95 / kTwoSided98)) - 1;
}

StepChange change_of(std::span<const MedianStep> a, std::span<const MedianStep> b) {
  StepChange change{.runs_a = a.size(), .runs_b = b.size()};
  const auto logs = [](std::span<const MedianStep> side) {
    std::vector<double> values;
    for (const MedianStep& run : side) values.push_back(std::log(run.ns));
    return values;
  };
  const std::vector<double> a_logs = logs(a);
  const std::vector<double> b_logs = logs(b);
  const double a_mean = mean_of_values(a_logs);
  const double b_mean = mean_of_values(b_logs);
  double within = 0;
  double doubt = 0;  // the variance of `within`, halved
  for (const std::span<const MedianStep> side : {a, b}) {
    for (const MedianStep& run : side) {
      within += square(run.log_sd);
      doubt += square(square(run.log_sd)) / run.freedom;
    }
  }
  const auto n_a = static_cast<double>(a.size());
  const auto n_b = static_cast<double>(b.size());
  doubt /= square(n_a + n_b);
  within /= n_a + n_b;
  change.within_sd = std::sqrt(within);

  const double freedom = n_a + n_b - 2;
  const double assumed = square(kRunsBeyondSteps) * within + square(kUnknownRunSpread);
  double variance = assumed;
  double quantile =
      doubt > 0 ? t_quantile(square(assumed / square(kRunsBeyondSteps)) / doubt) : kTwoSided98;
  if (freedom > 0) {
    const double spread =
        ((n_a - 1) * variance_of(a_logs, a_mean) + (n_b - 1) * variance_of(b_logs, b_mean)) /
        freedom;
    change.between_sd = std::sqrt(spread);
    variance = std::max(within, (kPriorRuns * assumed + freedom * spread) / (kPriorRuns + freedom));
    quantile = t_quantile(freedom);
  }
  change.half_width = quantile * std::sqrt(variance * (1 / n_a + 1 / n_b));
  const double difference = b_mean - a_mean;
  change.a_ns = std::exp(a_mean);
  change.b_ns = std::exp(b_mean);
  change.change = std::expm1(difference);
  change.least = std::expm1(difference - change.half_width);
  change.most = std::expm1(difference + change.half_width);
  return change;
}

}  // namespace dprof::analyzer
