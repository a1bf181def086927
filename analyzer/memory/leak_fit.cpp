// SPDX-License-Identifier: Apache-2.0
#include "analyzer/memory/leak_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostPoints = 240;
constexpr double kNoiseFactor = 2;
constexpr double kLargestJump = 0.5;   // of the rise
constexpr double kLeastOfAHalf = 0.2;  // of the rise
constexpr int kRounds = 100;
constexpr uint64_t kSeed = 8;

struct Points {
  std::vector<double> x;
  std::vector<double> y;
};

// The lowest of neighbouring points counts: this leaves the envelope unchanged.
Points joined(const std::vector<double>& x, const std::vector<double>& y) {
  const size_t each = (x.size() + kMostPoints - 1) / kMostPoints;
  Points points;
  for (size_t i = 0; i < x.size(); i += each) {
    const size_t end = std::min(x.size(), i + each);
    size_t lowest = i;
    for (size_t k = i; k < end; ++k) lowest = y[k] < y[lowest] ? k : lowest;
    points.x.push_back(x[lowest]);
    points.y.push_back(y[lowest]);
  }
  return points;
}

double noise_of(const std::vector<double>& y) {
  std::vector<double> differences;
  for (size_t i = 1; i < y.size(); ++i) differences.push_back(y[i] - y[i - 1]);
  return mad_n(differences) / std::sqrt(2.0);
}

double upper_median(std::vector<double>& values) {
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, half);
  return *half;
}

double theil_sen(const std::vector<double>& x, const std::vector<double>& y,
                 std::vector<double>& room) {
  room.clear();
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t k = i + 1; k < x.size(); ++k) {
      if (x[k] > x[i]) room.push_back((y[k] - y[i]) / (x[k] - x[i]));
    }
  }
  return room.empty() ? 0 : upper_median(room);
}

std::vector<double> right_envelope(std::vector<double> values) {
  for (size_t i = values.size() - 1; i-- > 0;) values[i] = std::min(values[i], values[i + 1]);
  return values;
}

// Between 20 % and 80 %.
struct Middle {
  size_t first;
  size_t last;
  explicit Middle(size_t n) : first(n / 5), last(n - 1 - n / 5) {}
  [[nodiscard]] std::vector<double> of(const std::vector<double>& values) const {
    return {values.begin() + static_cast<std::ptrdiff_t>(first),
            values.begin() + static_cast<std::ptrdiff_t>(last + 1)};
  }
};

// Residuals from the slope are resampled in blocks, because they are correlated, and the whole fit
// is repeated: the envelope follows single low values.
double half_width(const Points& all, double slope, std::vector<double>& room) {
  const size_t n = all.x.size();
  std::vector<double> residuals(n);
  for (size_t i = 0; i < n; ++i) residuals[i] = all.y[i] - slope * all.x[i];
  const auto block =
      std::max<size_t>(2, static_cast<size_t>(std::lround(2 * std::cbrt(static_cast<double>(n)))));
  std::mt19937_64 random(kSeed);
  const Middle middle(n);
  const std::vector<double> x = middle.of(all.x);
  std::vector<double> slopes;
  std::vector<double> y(n);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < n; i += block) {
      const size_t from = random() % n;
      for (size_t k = 0; k < block && i + k < n; ++k)
        y[i + k] = slope * all.x[i + k] + residuals[(from + k) % n];
    }
    slopes.push_back(theil_sen(x, middle.of(right_envelope(y)), room));
  }
  return (quantile(slopes, 0.975) - quantile(slopes, 0.025)) / 2;
}

bool rises_steadily(const std::vector<double>& envelope, double rise) {
  double largest_jump = 0;
  for (size_t i = 1; i < envelope.size(); ++i)
    largest_jump = std::max(largest_jump, envelope[i] - envelope[i - 1]);
  if (largest_jump > kLargestJump * rise) return false;
  const double half = envelope[envelope.size() / 2];
  return half - envelope.front() >= kLeastOfAHalf * rise &&
         envelope.back() - half >= kLeastOfAHalf * rise;
}

}  // namespace

std::optional<LeakFit> fit_leak(const std::vector<double>& x, const std::vector<double>& y,
                                const LeakRule& rule) {
  if (x.size() != y.size() || x.size() < std::max<size_t>(rule.fewest, 5)) return std::nullopt;
  const Points all = joined(x, y);
  const Middle middle(all.x.size());
  const Points judged{middle.of(all.x), middle.of(right_envelope(all.y))};
  const double rise = judged.y.back() - judged.y.front();
  const double least = std::max(
      {rule.smallest_rise, rule.smallest_share * median(all.y), kNoiseFactor * noise_of(all.y)});
  if (rise <= least || !rises_steadily(judged.y, rise)) return std::nullopt;
  std::vector<double> room;
  LeakFit fit{.slope = theil_sen(judged.x, judged.y, room),
              .rise = rise,
              .first_x = judged.x.front(),
              .last_x = judged.x.back()};
  fit.bound = half_width(all, fit.slope, room);
  if (fit.slope - fit.bound <= 0) return std::nullopt;
  return fit;
}

}  // namespace dprof::analyzer
