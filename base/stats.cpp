// SPDX-License-Identifier: Apache-2.0
#include "base/stats.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <random>

namespace dprof {
namespace {

template <typename T>
T middle(std::vector<T> values) {
  if (values.empty()) return T{};
  const auto upper = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), upper, values.end());
  if (values.size() % 2 == 1) return *upper;
  const T lower = *std::max_element(values.begin(), upper);
  return lower + (*upper - lower) / 2;
}

// Of sorted values without one that equals `one`.
double middle_without(const std::vector<double>& sorted, double one) {
  if (sorted.size() < 2) return 0;
  const auto gap = static_cast<size_t>(std::ranges::lower_bound(sorted, one) - sorted.begin());
  const auto left = [&](size_t i) { return sorted[i < gap ? i : i + 1]; };
  const size_t n = sorted.size() - 1;
  const double upper = left(n / 2);
  if (n % 2 == 1) return upper;
  const double lower = left(n / 2 - 1);
  return lower + (upper - lower) / 2;
}

constexpr double kMadToDeviation = 1.4826;

}  // namespace

double median(std::vector<double> values) { return middle(std::move(values)); }
int64_t median_ns(std::vector<int64_t> values) { return middle(std::move(values)); }
std::optional<int64_t> median_if_any(std::vector<int64_t> values) {
  return values.empty() ? std::nullopt : std::optional(median_ns(std::move(values)));
}

double mad_n(const std::vector<double>& values) {
  const double centre = median(values);
  std::vector<double> distances(values.size());
  std::ranges::transform(values, distances.begin(), [&](double x) { return std::abs(x - centre); });
  return kMadToDeviation * median(std::move(distances));
}

LeaveOneOut::LeaveOneOut(std::vector<double> values) : sorted_(std::move(values)) {
  std::ranges::sort(sorted_);
  if (sorted_.empty()) return;
  // Which value is missing matters only by its side of the middle.
  const size_t half = sorted_.size() / 2;
  for (const size_t missing : {size_t{0}, half - (half > 0 ? 1 : 0), half, sorted_.size() - 1}) {
    const double centre = median_without(sorted_[missing]);
    if (std::ranges::count(around_, centre, &Around::centre) != 0) continue;
    Around& around = around_.emplace_back(Around{.centre = centre, .distances = {}});
    for (const double value : sorted_) around.distances.push_back(std::abs(value - centre));
    std::ranges::sort(around.distances);
  }
}

double LeaveOneOut::median_without(double one) const { return middle_without(sorted_, one); }

double LeaveOneOut::mad_n_without(double one) const {
  const double centre = median_without(one);
  const auto around = std::ranges::find(around_, centre, &Around::centre);
  if (around == around_.end()) return 0;
  return kMadToDeviation * middle_without(around->distances, std::abs(one - centre));
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (position - static_cast<double>(below));
}

double quantile_of_sorted(std::span<const int64_t> sorted, double q) {
  const double at = std::clamp(q * static_cast<double>(sorted.size()) - 0.5, 0.0,
                               static_cast<double>(sorted.size() - 1));
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(low);
  return static_cast<double>(sorted[low]) * (1 - part) + static_cast<double>(sorted[high]) * part;
}

Bounds bounds_of_share(double seen, double observations) {
  if (observations <= 0) return {};
  constexpr double kZ = kTwoSided95;
  const double n = observations;
  const double centre = seen + kZ * kZ / (2 * n);
  const double half = kZ * std::sqrt(seen * (1 - seen) / n + kZ * kZ / (4 * n * n));
  const double scale = 1 + kZ * kZ / n;
  return {std::max(0.0, (centre - half) / scale), std::min(1.0, (centre + half) / scale)};
}

size_t rise_point(std::span<const double> series) {
  const double mean =
      std::accumulate(series.begin(), series.end(), 0.0) / static_cast<double>(series.size());
  double sum = 0;
  double least = 0;
  size_t at = 0;
  for (size_t i = 0; i < series.size(); ++i) {
    sum += series[i] - mean;
    if (sum < least) {
      least = sum;
      at = i + 1;
    }
  }
  return at;
}

Estimate bootstrap_mean(const std::vector<double>& values, uint64_t seed, int rounds) {
  if (values.empty()) return {};
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (values.size() < 2) return {mean, 0};
  std::mt19937_64 random(seed);
  std::vector<double> means(static_cast<size_t>(rounds));
  for (double& one : means) {
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += values[random() % values.size()];
    one = sum / n;
  }
  return {mean, (quantile(means, 0.975) - quantile(means, 0.025)) / 2};
}

std::vector<int64_t> rounded_to_sum(const std::vector<double>& values) {
  std::vector<int64_t> whole;
  double sum = 0;
  int64_t least = 0;
  for (const double value : values) {
    sum += value;
    whole.push_back(static_cast<int64_t>(std::floor(value)));
    least += whole.back();
  }
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(),
                           [&](size_t i) { return values[i] - static_cast<double>(whole[i]); });
  const int64_t missing = std::llround(sum) - least;
  for (int64_t i = 0; i < missing && !order.empty(); ++i)
    ++whole[order[static_cast<size_t>(i) % order.size()]];
  return whole;
}

}  // namespace dprof
