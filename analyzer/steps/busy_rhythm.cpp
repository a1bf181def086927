// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/busy_rhythm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dprof::analyzer {
namespace {

constexpr size_t kBins = 8192;
constexpr size_t kLeastPeriodBins = 16;  // a shorter period is not resolved
constexpr size_t kFewestPeriods = 5;
constexpr double kCorrelated = 0.5;     // of the variance
constexpr double kNearlyTheBest = 0.8;  // a multiple of the period correlates equally well
constexpr double kSearched = 0.25;      // of a period, on both sides of an expected begin

std::vector<double> occupation(const IntervalSet& busy, TraceNs begin, double bin_ns) {
  std::vector<double> bins(kBins, 0);
  for (const Interval& i : busy) {
    double from = static_cast<double>((i.begin - begin).ns) / bin_ns;
    const double to = static_cast<double>((i.end - begin).ns) / bin_ns;
    while (from < to) {
      const auto bin = std::min(static_cast<size_t>(from), kBins - 1);
      const double end = std::min(to, static_cast<double>(bin + 1));
      bins[bin] += end - from;
      if (end <= from) break;
      from = end;
    }
  }
  return bins;
}

// Normalised, for lags up to a fifth of the span.
std::vector<double> autocorrelation(std::vector<double> values) {
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  for (double& value : values) value -= mean;
  const size_t lags = values.size() / kFewestPeriods;
  std::vector<double> found(lags, 0);
  for (size_t lag = 0; lag < lags; ++lag) {
    double sum = 0;
    for (size_t i = lag; i < values.size(); ++i) sum += values[i] * values[i - lag];
    found[lag] = sum / static_cast<double>(values.size() - lag);
  }
  const double variance = found[0];
  if (variance > 0) {
    for (double& value : found) value /= variance;
  }
  return found;
}

std::optional<size_t> first_peak(const std::vector<double>& correlation) {
  double best = kCorrelated;
  for (size_t lag = kLeastPeriodBins; lag + 1 < correlation.size(); ++lag)
    best = std::max(best, correlation[lag]);
  // Skip the slope down from lag 0, which is not a peak.
  size_t lag = 1;
  while (lag + 1 < correlation.size() && correlation[lag + 1] <= correlation[lag]) ++lag;
  for (lag = std::max(lag, kLeastPeriodBins); lag + 1 < correlation.size(); ++lag) {
    const bool peak =
        correlation[lag] >= correlation[lag - 1] && correlation[lag] > correlation[lag + 1];
    if (peak && correlation[lag] >= kNearlyTheBest * best && correlation[lag] >= kCorrelated)
      return lag;
  }
  return std::nullopt;
}

struct Pause {
  TraceNs end;
  int64_t length_ns = 0;
};

// The longest pause that ends within `window`.
std::optional<Pause> longest_pause(const IntervalSet& busy, Interval window) {
  std::optional<Pause> best;
  auto next = std::ranges::lower_bound(busy, window.begin, {}, &Interval::begin);
  for (; next != busy.end() && next->begin < window.end; ++next) {
    if (next == busy.begin()) continue;
    const int64_t length = (next->begin - std::prev(next)->end).ns;
    if (!best || length > best->length_ns) best = Pause{next->begin, length};
  }
  return best;
}

}  // namespace

std::optional<std::vector<TraceNs>> rhythm_of(const IntervalSet& busy) {
  if (busy.size() < 2 * kFewestPeriods) return std::nullopt;
  const Interval span{busy.front().begin, busy.back().end};
  const double bin_ns = static_cast<double>(span.length().ns) / static_cast<double>(kBins);
  const std::optional<size_t> lag =
      first_peak(autocorrelation(occupation(busy, span.begin, bin_ns)));
  if (!lag) return std::nullopt;
  const double period = static_cast<double>(*lag) * bin_ns;
  const auto moment = [](double ns) { return DurationNs{static_cast<int64_t>(std::llround(ns))}; };
  std::vector<TraceNs> begins;
  std::optional<Pause> first =
      longest_pause(busy, {span.begin + DurationNs{1}, span.begin + moment(1.5 * period)});
  if (!first) return std::nullopt;
  TraceNs at = first->end;
  while (at < span.end) {
    begins.push_back(at);
    const TraceNs expected = at + moment(period);
    const std::optional<Pause> pause = longest_pause(
        busy, {expected - moment(kSearched * period), expected + moment(kSearched * period)});
    at = pause ? pause->end : expected;
  }
  if (begins.size() < kFewestPeriods) return std::nullopt;
  return begins;
}

}  // namespace dprof::analyzer
