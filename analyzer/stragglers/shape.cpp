// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/shape.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kPersistentShare = 0.6;  // of steps
constexpr size_t kWindows = 5;
constexpr size_t kLeastWindows = 3;  // of them flagged, for a persistent one
constexpr double kLeastZ = 4;        // of a typical excess in its own error
constexpr size_t kLeastBefore = 3;   // steps before an onset
constexpr size_t kLeastAfter = 8;
constexpr double kQuietBefore = 0.3;     // of the excess after it
constexpr double kTransientShare = 0.1;  // of steps
constexpr size_t kLeastSpikes = 4;
constexpr double kRival = 0.25;        // of a rank's typical spike
constexpr double kAlike = 0.15;        // spread of the spikes' size, of their median
constexpr double kChance = 0.005;      // that spikes of unequal size are one rank's by luck
constexpr double kSameInterval = 0.8;  // of the spikes' distances, for a periodic one
constexpr double kRotatingEntropy = 0.7;
// Of the steps have a spike of any rank, and each rank has one in so many: or in nearly every step
// there is one, and not several. Unrelated hiccups of many ranks are neither.
constexpr double kRotatingShare = 0.3;
constexpr double kRotatingShareAlike = 0.1;  // where all spikes have one size
constexpr double kRotatingRate = 0.03;
constexpr double kEachStep = 0.9;
constexpr double kOnePerStep = 1.3;
constexpr double kOwnTurns = 0.6;   // of its share of the steps, in which each rank is late
constexpr double kSameSize = 0.25;  // spread of what the last rank is late by, of its median

Series part_of(const Series& values, size_t begin, size_t end) {
  return {values.begin() + static_cast<ptrdiff_t>(begin),
          values.begin() + static_cast<ptrdiff_t>(end)};
}

// How many of the windows that the run is cut into show the excess by themselves.
size_t windows_above(const Series& values, double threshold, size_t windows) {
  size_t above = 0;
  for (size_t w = 0; w < windows; ++w) {
    const Series part =
        part_of(values, values.size() * w / windows, values.size() * (w + 1) / windows);
    above += static_cast<double>(median_ns(part)) > threshold ? 1 : 0;
  }
  return above;
}

// The difference must also stand out of its own fluctuation: few peers can be close to each other
// by luck. Steps that follow each other fluctuate together, so only each fifth counts as an
// observation.
bool stands_out_of_itself(const Series& excess) {
  const std::vector<double> values = doubles(excess);
  const double observations = std::max(1.0, static_cast<double>(values.size()) / 5);
  const double error = 1.2533 * mad_n(values) / std::sqrt(observations);
  return median(values) > kLeastZ * error;
}

// Most spikes come at one distance from the one before, and none is missing before the first and
// after the last of them.
bool is_periodic(const std::vector<size_t>& spikes, size_t steps) {
  std::map<size_t, size_t> distances;
  for (size_t i = 1; i < spikes.size(); ++i) ++distances[spikes[i] - spikes[i - 1]];
  const auto common =
      std::ranges::max_element(distances, {}, [](const auto& entry) { return entry.second; });
  if (common == distances.end() || common->first < 2) return false;
  if (spikes.size() <= kLeastSpikes &&
      (spikes.front() > common->first || spikes.back() + common->first < steps))
    return false;
  return static_cast<double>(common->second) >=
         kSameInterval * static_cast<double>(spikes.size() - 1);
}

// Whether the spikes carry most of the rank's excess.
bool is_concentrated(const Series& excess, const std::vector<size_t>& spikes) {
  int64_t in_spikes = 0;
  for (const size_t s : spikes) in_spikes += excess[s];
  int64_t positive = 0;
  for (const int64_t e : excess) positive += std::max<int64_t>(0, e);
  return 2 * in_spikes > positive;
}

std::vector<double> sizes_of(const Series& excess, const std::vector<size_t>& spikes) {
  std::vector<double> sizes;
  for (const size_t s : spikes) sizes.push_back(static_cast<double>(excess[s]));
  return sizes;
}

// Spikes of one size have one origin; those of a busy machine differ.
bool are_alike(const Series& excess, const std::vector<size_t>& spikes) {
  const std::vector<double> sizes = sizes_of(excess, spikes);
  return mad_n(sizes) <= kAlike * median(sizes);
}

// Probability that chance gives one of `ranks` at least `own` of `all` spikes, if it favours none.
double chance_of(size_t own, size_t all, size_t ranks) {
  const double p = 1.0 / static_cast<double>(ranks);
  double tail = 0;
  for (size_t k = own; k <= all; ++k) {
    const auto n = static_cast<double>(all);
    const auto x = static_cast<double>(k);
    const double ways = std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1);
    tail += std::exp(ways + x * std::log(p) + (n - x) * std::log1p(-p));
  }
  return std::min(1.0, tail * static_cast<double>(ranks));
}

// Of the shares of those that were slowest; 1 = all alike.
double entropy_of(const std::vector<double>& counts, double sum) {
  double entropy = 0;
  for (const double count : counts) {
    const double p = count / sum;
    if (p > 0) entropy -= p * std::log(p);
  }
  return entropy / std::log(static_cast<double>(counts.size()));
}

}  // namespace

double share_above(const Series& values, double threshold) {
  const auto above =
      std::ranges::count_if(values, [&](int64_t v) { return static_cast<double>(v) > threshold; });
  return values.empty() ? 0 : static_cast<double>(above) / static_cast<double>(values.size());
}

bool lasts(const Series& excess, double threshold) {
  if (static_cast<double>(median_ns(excess)) <= threshold) return false;
  const size_t windows = excess.size() >= 4 * kWindows ? kWindows : kLeastWindows;
  return share_above(excess, threshold) >= kPersistentShare &&
         windows_above(excess, threshold, windows) >= kLeastWindows && stands_out_of_itself(excess);
}

std::optional<size_t> onset_of(const Series& excess, double threshold) {
  if (excess.size() < kLeastBefore + kLeastAfter) return std::nullopt;
  const size_t change = rise_point(doubles(excess));
  if (change < kLeastBefore || excess.size() - change < kLeastAfter) return std::nullopt;
  const Series after = part_of(excess, change, excess.size());
  const Series before = part_of(excess, 0, change);
  const auto was = static_cast<double>(median_ns(before));
  const auto level = static_cast<double>(median_ns(after));
  if (was > kQuietBefore * level || level - was <= threshold) return std::nullopt;
  // A short stretch that is even by luck must stand out of what came before it.
  const double observations = std::max(1.0, static_cast<double>(after.size()) / 5);
  if (level - was <= kLeastZ * 1.2533 * mad_n(doubles(before)) / std::sqrt(observations))
    return std::nullopt;
  if (!lasts(after, threshold)) return std::nullopt;
  return change;
}

std::vector<size_t> spikes_of(const Series& excess, double threshold) {
  std::vector<size_t> spikes;
  for (size_t s = 0; s < excess.size(); ++s) {
    if (static_cast<double>(excess[s]) > threshold) spikes.push_back(s);
  }
  return spikes;
}

std::optional<Suspect> occasional(const std::vector<std::vector<size_t>>& spikes, size_t rank,
                                  const std::vector<Series>& excess_of, bool evident,
                                  double great_ns) {
  const std::vector<size_t>& own = spikes[rank];
  const Series& excess = excess_of[rank];
  if (own.size() < (evident ? 2 : kLeastSpikes) || !is_concentrated(excess, own))
    return std::nullopt;
  // Hiccups of a busy machine are no rivals of spikes that are much larger.
  const double typical = median(sizes_of(excess, own));
  size_t all = own.size();
  for (size_t r = 0; r < spikes.size(); ++r) {
    if (r == rank) continue;
    const auto like_it = static_cast<size_t>(std::ranges::count_if(spikes[r], [&](size_t s) {
      return static_cast<double>(excess_of[r][s]) >= kRival * typical;
    }));
    all += like_it;
    if (4 * like_it > own.size()) return std::nullopt;
  }
  const bool periodic = is_periodic(own, excess.size());
  const bool one_origin =
      evident || periodic || (own.size() > kLeastSpikes && are_alike(excess, own));
  if (!one_origin && chance_of(own.size(), all, spikes.size()) > kChance) return std::nullopt;
  const double share = static_cast<double>(own.size()) / static_cast<double>(excess.size());
  if (!periodic && !evident && share >= kTransientShare) {
    // Neither rare nor regular: only a stretch of time, such as a fault that came and went. Against
    // one other rank only, a busy machine looks the same, but for large spikes of one size.
    if (spikes.size() == 2 && (!are_alike(excess, own) || typical < great_ns)) return std::nullopt;
    const size_t stretch = own.back() - own.front() + 1;
    const bool dense =
        static_cast<double>(own.size()) >= kPersistentShare * static_cast<double>(stretch);
    if (!dense && !are_alike(excess, own)) return std::nullopt;
  }
  return Suspect{rank, periodic ? Shape::kPeriodic : Shape::kTransient, own, excess, share, {}};
}

std::optional<Suspect> rotating(const std::vector<std::vector<size_t>>& spikes,
                                const std::vector<Series>& excess) {
  const size_t ranks = spikes.size();
  const size_t steps = excess.front().size();
  if (ranks < 3) return std::nullopt;
  std::vector<double> slowest(ranks, 0);
  std::vector<size_t> when;
  Series worst(steps, 0);
  size_t all = 0;
  for (const std::vector<size_t>& own : spikes) all += own.size();
  for (size_t s = 0; s < steps; ++s) {
    size_t last = 0;
    for (size_t r = 1; r < ranks; ++r) {
      if (excess[r][s] > excess[last][s]) last = r;
    }
    worst[s] = std::max<int64_t>(0, excess[last][s]);
    if (std::ranges::binary_search(spikes[last], s)) {
      slowest[last] += 1;
      when.push_back(s);
    }
  }
  if (when.size() < 2 * kLeastSpikes) return std::nullopt;
  const double share = static_cast<double>(when.size()) / static_cast<double>(steps);
  const double per_step = static_cast<double>(all) / static_cast<double>(steps);
  const double least = are_alike(worst, when) ? kRotatingShareAlike : kRotatingShare;
  const bool often = share >= least && per_step >= kRotatingRate * static_cast<double>(ranks);
  if (!often && (share < kEachStep || per_step > kOnePerStep)) return std::nullopt;
  const auto sum = static_cast<double>(when.size());
  const double top = *std::ranges::max_element(slowest) / sum;
  const double most = std::min(0.6, 3.0 / static_cast<double>(ranks));
  // Fewer spikes than ranks cannot be spread over all of them.
  const double possible =
      std::log(std::min(sum, static_cast<double>(ranks))) / std::log(static_cast<double>(ranks));
  if (entropy_of(slowest, sum) <= kRotatingEntropy * possible || top >= most) return std::nullopt;
  return Suspect{std::nullopt, Shape::kRotating, std::move(when), std::move(worst), share, {}};
}

std::optional<Suspect> by_turns(const std::vector<Series>& excess, double threshold) {
  const size_t ranks = excess.size();
  const size_t steps = excess.front().size();
  std::vector<double> gaps;
  std::vector<double> turns(ranks, 0);
  Series worst;
  std::vector<size_t> when;
  for (size_t s = 0; s < steps; ++s) {
    size_t last = 0;
    int64_t second = 0;
    for (size_t r = 1; r < ranks; ++r) {
      if (excess[r][s] > excess[last][s]) last = r;
    }
    for (size_t r = 0; r < ranks; ++r) {
      if (r != last) second = std::max(second, excess[r][s]);
    }
    worst.push_back(std::max<int64_t>(0, excess[last][s]));
    gaps.push_back(static_cast<double>(worst.back() - std::min(second, worst.back())));
    if (gaps.back() <= threshold) continue;
    turns[last] += 1;
    when.push_back(s);
  }
  const double least = *std::ranges::min_element(turns) / static_cast<double>(steps);
  if (median(gaps) <= threshold || mad_n(gaps) > kSameSize * median(gaps) ||
      least * static_cast<double>(ranks) < kOwnTurns)
    return std::nullopt;
  const double share = static_cast<double>(when.size()) / static_cast<double>(steps);
  return Suspect{std::nullopt, Shape::kRotating, std::move(when), std::move(worst), share, {}};
}

}  // namespace dprof::analyzer
