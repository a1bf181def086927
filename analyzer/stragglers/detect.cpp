// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/detect.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "analyzer/stragglers/kinds.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kLeastExcess = 0.015;    // of the median step, to flag a step or a rank
constexpr double kLeastZ = 4;             // robust z of a rank among its peers
constexpr double kLeastScale = 0.003;     // of the median: differences below it are nothing
constexpr double kPersistentShare = 0.6;  // of steps
constexpr size_t kWindows = 5;
constexpr size_t kLeastWindows = 3;  // of them flagged, for a persistent one
constexpr size_t kLeastSteps = 6;    // fewer steps show no time structure
constexpr double kSpikeSigmas = 6;
constexpr double kSpikeShareOfStep = 0.05;  // of the median step
constexpr double kTransientShare = 0.1;     // of steps
constexpr size_t kLeastSpikes = 4;
constexpr double kAlike = 0.15;        // spread of the spikes' size, of their median
constexpr double kChance = 0.005;      // that spikes of unequal size are one rank's by luck
constexpr double kSameInterval = 0.8;  // of the spikes' distances, for a periodic one
constexpr double kRotatingEntropy = 0.7;
constexpr double kRotatingShare = 0.3;  // of the steps have a spike, of any rank

using Series = std::vector<int64_t>;

std::vector<double> doubles(const Series& values) { return {values.begin(), values.end()}; }

double share_above(const Series& values, double threshold) {
  const auto above =
      std::ranges::count_if(values, [&](int64_t v) { return static_cast<double>(v) > threshold; });
  return values.empty() ? 0 : static_cast<double>(above) / static_cast<double>(values.size());
}

// How many of the windows that the run is cut into show the excess by themselves.
size_t windows_above(const Series& values, double threshold, size_t windows) {
  size_t above = 0;
  for (size_t w = 0; w < windows; ++w) {
    const auto begin = static_cast<ptrdiff_t>(values.size() * w / windows);
    const auto end = static_cast<ptrdiff_t>(values.size() * (w + 1) / windows);
    const Series part(values.begin() + begin, values.begin() + end);
    above += static_cast<double>(median_ns(part)) > threshold ? 1 : 0;
  }
  return above;
}

// Medians of all values but one, from one sort: O(n log n) for all n of them.
class MedianOfOthers {
 public:
  explicit MedianOfOthers(Series values) : sorted_(std::move(values)) {
    std::ranges::sort(sorted_);
  }

  // `value` is one of those given; which one of equal ones makes no difference.
  [[nodiscard]] int64_t without(int64_t value) const {
    const auto removed =
        static_cast<size_t>(std::ranges::lower_bound(sorted_, value) - sorted_.begin());
    const size_t n = sorted_.size() - 1;
    const auto at = [&](size_t i) { return sorted_[i < removed ? i : i + 1]; };
    if (n == 0) return 0;
    return n % 2 == 1 ? at(n / 2) : median_ns({at(n / 2 - 1), at(n / 2)});
  }

 private:
  Series sorted_;
};

// A rank's typical own work against the spread of the other ranks'.
bool stands_out(const OwnWork& work, size_t rank) {
  std::vector<double> others;
  for (size_t r = 0; r < work.own_ns.size(); ++r) {
    if (r != rank) others.push_back(median(doubles(work.own_ns[r])));
  }
  const double centre = median(others);
  const double scale = std::max(mad_n(others), kLeastScale * centre);
  return median(doubles(work.own_ns[rank])) - centre > kLeastZ * scale;
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

// Beyond the threshold in most steps and in several parts of the run, and more than it fluctuates.
bool lasts(const Series& excess, double threshold) {
  if (static_cast<double>(median_ns(excess)) <= threshold) return false;
  const size_t windows = excess.size() >= 4 * kWindows ? kWindows : kLeastWindows;
  return share_above(excess, threshold) >= kPersistentShare &&
         windows_above(excess, threshold, windows) >= kLeastWindows && stands_out_of_itself(excess);
}

// One kind of work may last in its excess where the fluctuation of the others hides the whole.
bool lasts_in_one_kind(const OwnWork& work, size_t rank, double threshold) {
  if (work.sums.size() != work.own_ns.size()) return false;
  return std::ranges::any_of(kKinds, [&](const Kind& kind) {
    Series excess;
    for (size_t s = 0; s < work.steps.size(); ++s) {
      Series others;
      for (size_t o = 0; o < work.sums.size(); ++o) {
        if (o != rank) others.push_back(kind.of(work.sums[o][s]));
      }
      excess.push_back(kind.of(work.sums[rank][s]) - median_ns(std::move(others)));
    }
    return lasts(excess, threshold);
  });
}

bool is_persistent(const OwnWork& work, size_t rank, const Series& excess, double threshold) {
  if (static_cast<double>(median_ns(excess)) <= threshold) return false;
  if (work.own_ns.size() > 2 && !stands_out(work, rank)) return false;
  return lasts(excess, threshold) || lasts_in_one_kind(work, rank, threshold);
}

std::vector<size_t> spikes_of(const Series& excess, double threshold) {
  std::vector<size_t> spikes;
  for (size_t s = 0; s < excess.size(); ++s) {
    if (static_cast<double>(excess[s]) > threshold) spikes.push_back(s);
  }
  return spikes;
}

// Most spikes come at one distance from the one before.
bool is_periodic(const std::vector<size_t>& spikes) {
  std::map<size_t, size_t> distances;
  for (size_t i = 1; i < spikes.size(); ++i) ++distances[spikes[i] - spikes[i - 1]];
  const auto common =
      std::ranges::max_element(distances, {}, [](const auto& entry) { return entry.second; });
  if (common == distances.end() || common->first < 2) return false;
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

// Spikes of one size have one origin; those of a busy machine differ.
bool are_alike(const Series& excess, const std::vector<size_t>& spikes) {
  std::vector<double> sizes;
  for (const size_t s : spikes) sizes.push_back(static_cast<double>(excess[s]));
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

std::optional<Suspect> occasional(const std::vector<std::vector<size_t>>& spikes, size_t rank,
                                  const Series& excess) {
  const std::vector<size_t>& own = spikes[rank];
  if (own.size() < kLeastSpikes || !is_concentrated(excess, own)) return std::nullopt;
  size_t all = 0;
  for (size_t r = 0; r < spikes.size(); ++r) {
    all += spikes[r].size();
    if (r != rank && 4 * spikes[r].size() > own.size()) return std::nullopt;
  }
  const bool periodic = is_periodic(own);
  const bool one_origin = periodic || (own.size() > kLeastSpikes && are_alike(excess, own));
  if (!one_origin && chance_of(own.size(), all, spikes.size()) > kChance) return std::nullopt;
  const double share = static_cast<double>(own.size()) / static_cast<double>(excess.size());
  if (!periodic && share >= kTransientShare) {
    // Neither rare nor regular: only a stretch of time, such as a fault that came and went. Against
    // one other rank only, a busy machine looks the same.
    if (spikes.size() == 2) return std::nullopt;
    const size_t stretch = own.back() - own.front() + 1;
    if (static_cast<double>(own.size()) < kPersistentShare * static_cast<double>(stretch))
      return std::nullopt;
  }
  return Suspect{rank, periodic ? Shape::kPeriodic : Shape::kTransient, own, excess, share};
}

std::optional<Suspect> rotating(const std::vector<std::vector<size_t>>& spikes,
                                const std::vector<Series>& excess) {
  const size_t ranks = spikes.size();
  const size_t steps = excess.front().size();
  if (ranks < 3) return std::nullopt;
  std::vector<double> slowest(ranks, 0);
  std::vector<size_t> when;
  Series worst(steps, 0);
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
  const double share = static_cast<double>(when.size()) / static_cast<double>(steps);
  if (share < kRotatingShare || when.size() < 2 * kLeastSpikes) return std::nullopt;
  double entropy = 0;
  double top = 0;
  for (const double count : slowest) {
    const double p = count / static_cast<double>(when.size());
    if (p > 0) entropy -= p * std::log(p);
    top = std::max(top, p);
  }
  const double most = std::min(0.6, 3.0 / static_cast<double>(ranks));
  if (entropy / std::log(static_cast<double>(ranks)) <= kRotatingEntropy || top >= most)
    return std::nullopt;
  return Suspect{std::nullopt, Shape::kRotating, std::move(when), std::move(worst), share};
}

}  // namespace

std::string_view word_of(Shape shape) {
  switch (shape) {
    case Shape::kPersistent:
      return "persistent";
    case Shape::kTransient:
      return "transient";
    case Shape::kPeriodic:
      return "periodic";
    case Shape::kRotating:
      return "rotating";
  }
  return "persistent";
}

std::vector<Series> excess_of(const OwnWork& work) {
  const size_t ranks = work.own_ns.size();
  std::vector<Series> excess(ranks, Series(work.steps.size(), 0));
  if (ranks < 2) return excess;
  for (size_t s = 0; s < work.steps.size(); ++s) {
    Series values;
    for (size_t r = 0; r < ranks; ++r) values.push_back(work.own_ns[r][s]);
    const MedianOfOthers others(values);
    for (size_t r = 0; r < ranks; ++r) excess[r][s] = values[r] - others.without(values[r]);
  }
  return excess;
}

std::vector<Suspect> suspects_of(const OwnWork& work, int64_t median_step_ns) {
  std::vector<Suspect> suspects;
  const size_t ranks = work.own_ns.size();
  if (ranks < 2 || work.steps.size() < kLeastSteps) return suspects;
  const std::vector<Series> excess = excess_of(work);
  const double threshold = kLeastExcess * static_cast<double>(median_step_ns);
  Series pooled;
  for (const Series& series : excess) pooled.insert(pooled.end(), series.begin(), series.end());
  const double spike = std::max(kSpikeSigmas * mad_n(doubles(pooled)),
                                kSpikeShareOfStep * static_cast<double>(median_step_ns));
  std::vector<std::vector<size_t>> spikes;
  for (const Series& series : excess) spikes.push_back(spikes_of(series, spike));

  for (size_t r = 0; r < ranks; ++r) {
    if (is_persistent(work, r, excess[r], threshold)) {
      Suspect suspect{r, Shape::kPersistent, {}, excess[r], share_above(excess[r], threshold)};
      suspect.when = spikes_of(excess[r], threshold);
      suspects.push_back(std::move(suspect));
    } else if (std::optional<Suspect> one = occasional(spikes, r, excess[r])) {
      suspects.push_back(*std::move(one));
    }
  }
  if (suspects.empty()) {
    if (std::optional<Suspect> one = rotating(spikes, excess)) suspects.push_back(*std::move(one));
  }
  return suspects;
}

}  // namespace dprof::analyzer
