// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/shape.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "analyzer/vocabulary/thresholds.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

Series part_of(const Series& values, size_t begin, size_t end) {
  return {values.begin() + static_cast<ptrdiff_t>(begin),
          values.begin() + static_cast<ptrdiff_t>(end)};
}

// The number of windows of the run that show the excess by themselves.
size_t windows_above(const Series& values, double threshold, size_t windows) {
  size_t above = 0;
  for (size_t w = 0; w < windows; ++w) {
    const Series part =
        part_of(values, values.size() * w / windows, values.size() * (w + 1) / windows);
    above += static_cast<double>(median_ns(part)) > threshold ? 1 : 0;
  }
  return above;
}

// The difference must also exceed its own fluctuation: few peers can be close to each other by
// luck. Consecutive steps fluctuate together, so only every fifth counts as an observation.
bool stands_out_of_itself(const Series& excess) {
  const std::vector<double> values = doubles(excess);
  const double observations = std::max(1.0, static_cast<double>(values.size()) / 5);
  const double error = 1.2533 * mad_n(values) / std::sqrt(observations);
  return median(values) > limit::kLeastZ * error;
}

// Most spikes have the same distance from the previous one, and none is missing before the first
// and after the last of them.
bool is_periodic(const std::vector<size_t>& spikes, size_t steps) {
  std::map<size_t, size_t> distances;
  for (size_t i = 1; i < spikes.size(); ++i) ++distances[spikes[i] - spikes[i - 1]];
  const auto common =
      std::ranges::max_element(distances, {}, [](const auto& entry) { return entry.second; });
  if (common == distances.end() || common->first < 2) return false;
  if (spikes.size() <= limit::kLeastSpikes &&
      (spikes.front() > common->first || spikes.back() + common->first < steps))
    return false;
  return static_cast<double>(common->second) >=
         limit::kSameInterval * static_cast<double>(spikes.size() - 1);
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
  return mad_n(sizes) <= limit::kAlike * median(sizes);
}

// Few are, if even the largest is hardly larger than the smallest: a median says little of three.
bool are_all_alike(const Series& excess, const std::vector<size_t>& spikes) {
  const std::vector<double> sizes = sizes_of(excess, spikes);
  const auto [least, most] = std::ranges::minmax(sizes);
  return most - least <= limit::kAlike * median(sizes);
}

// Probability of `k` of `n` events with probability p each.
double probability_of(size_t k, size_t n, double p) {
  const auto all = static_cast<double>(n);
  const auto x = static_cast<double>(k);
  const double ways = std::lgamma(all + 1) - std::lgamma(x + 1) - std::lgamma(all - x + 1);
  return std::exp(ways + x * std::log(p) + (all - x) * std::log1p(-p));
}

// Of at least `least` of them.
double tail_of(size_t least, size_t n, double p) {
  double tail = 0;
  for (size_t k = least; k <= n; ++k) tail += probability_of(k, n, p);
  return std::min(1.0, tail);
}

// Probability that one of `ranks` has at least `own` of `all` spikes if all ranks are equally
// likely.
double chance_of(size_t own, size_t all, size_t ranks) {
  const auto n = static_cast<double>(ranks);
  return std::min(1.0, n * tail_of(own, all, 1 / n));
}

// Whether pauses gather around this size, rather than belong to the tail of all of them: where a
// density falls, an interval holds no more values than one that is as wide and lower. Only steps
// with one pause: of two among few ranks, each is half of the other's usual value.
bool is_a_size(const std::vector<Series>& excess, const std::vector<size_t>& among, double size) {
  const double wide = limit::kSizeWidth;
  size_t here = 0;
  size_t lower = 0;
  for (size_t s = 0; s < excess.front().size(); ++s) {
    std::vector<double> pauses;
    for (const size_t r : among) {
      const double part = static_cast<double>(excess[r][s]) / size;
      if (part >= wide) pauses.push_back(part);
    }
    if (pauses.size() != 1) continue;
    here += std::abs(pauses.front() - 1) <= wide / 2 ? 1 : 0;
    lower += pauses.front() < 2 * wide ? 1 : 0;
  }
  return tail_of(here, here + lower, 0.5) <= limit::kChance;
}

double entropy_term(double share) { return share > 0 ? -share * std::log(share) : 0; }

// Evenness of the turns; 1 = as even as if chance dealt them out, each to any rank: few turns are
// never dealt out evenly. O(turns).
double evenness_of(const std::vector<size_t>& counts) {
  const size_t turns = std::accumulate(counts.begin(), counts.end(), size_t{0});
  const auto all = static_cast<double>(turns);
  const auto ranks = static_cast<double>(counts.size());
  double entropy = 0;
  for (const size_t count : counts) entropy += entropy_term(static_cast<double>(count) / all);
  double by_chance = 0;
  for (size_t k = 1; k <= turns; ++k) {
    by_chance +=
        ranks * probability_of(k, turns, 1 / ranks) * entropy_term(static_cast<double>(k) / all);
  }
  return entropy / by_chance;
}

// Whether the turns belong to all ranks, and to none in particular.
bool is_spread(const std::vector<size_t>& counts) {
  const size_t all = std::accumulate(counts.begin(), counts.end(), size_t{0});
  const size_t top = *std::ranges::max_element(counts);
  const double share = static_cast<double>(top) / static_cast<double>(all);
  const double most =
      std::min<double>(limit::kMostOfFew, limit::kFavoured / static_cast<double>(counts.size()));
  return evenness_of(counts) > limit::kRotatingEntropy &&
         (share < most || chance_of(top, all, counts.size()) > limit::kByLuck);
}

// The latest first.
std::vector<size_t> by_lateness(const std::vector<Series>& excess, std::vector<size_t> ranks,
                                size_t step) {
  std::ranges::stable_sort(ranks, std::greater(), [&](size_t r) { return excess[r][step]; });
  return ranks;
}

}  // namespace

double share_above(const Series& values, double threshold) {
  const auto above =
      std::ranges::count_if(values, [&](int64_t v) { return static_cast<double>(v) > threshold; });
  return values.empty() ? 0 : static_cast<double>(above) / static_cast<double>(values.size());
}

bool lasts(const Series& excess, double threshold) {
  if (static_cast<double>(median_ns(excess)) <= threshold) return false;
  const size_t windows =
      excess.size() >= 4 * limit::kWindows ? limit::kWindows : limit::kLeastWindows;
  return share_above(excess, threshold) >= limit::kPersistentShare &&
         windows_above(excess, threshold, windows) >= limit::kLeastWindows &&
         stands_out_of_itself(excess);
}

std::optional<size_t> onset_of(const Series& excess, double threshold) {
  if (excess.size() < limit::kLeastBefore + limit::kLeastAfter) return std::nullopt;
  const size_t change = rise_point(doubles(excess));
  if (change < limit::kLeastBefore || excess.size() - change < limit::kLeastAfter)
    return std::nullopt;
  const Series after = part_of(excess, change, excess.size());
  const Series before = part_of(excess, 0, change);
  const auto was = static_cast<double>(median_ns(before));
  const auto level = static_cast<double>(median_ns(after));
  if (was > limit::kQuietBefore * level || level - was <= threshold) return std::nullopt;
  // A short stretch that is even by luck must differ clearly from what came before.
  const double observations = std::max(1.0, static_cast<double>(after.size()) / 5);
  if (level - was <= limit::kLeastZ * 1.2533 * mad_n(doubles(before)) / std::sqrt(observations))
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
                                  const std::vector<Series>& excess_of, size_t compared,
                                  bool evident, double great_ns) {
  const std::vector<size_t>& own = spikes[rank];
  const Series& excess = excess_of[rank];
  if (own.size() < (evident ? size_t{2} : limit::kFewestAlike) || !is_concentrated(excess, own))
    return std::nullopt;
  // Hiccups of a busy machine do not compete with much larger spikes.
  const double typical = median(sizes_of(excess, own));
  size_t all = own.size();
  for (size_t r = 0; r < spikes.size(); ++r) {
    if (r == rank) continue;
    const auto like_it = static_cast<size_t>(std::ranges::count_if(spikes[r], [&](size_t s) {
      return static_cast<double>(excess_of[r][s]) >= limit::kRival * typical;
    }));
    all += like_it;
    if (4 * like_it > own.size()) return std::nullopt;
  }
  const bool periodic = is_periodic(own, excess.size());
  const bool one_origin =
      evident || periodic || (own.size() > limit::kLeastSpikes && are_alike(excess, own));
  const double chance = one_origin ? 0 : chance_of(own.size(), all, compared);
  if (chance > limit::kChance || own.size() < limit::kLeastSpikes) {
    const bool alike = one_origin || (all == own.size() && are_all_alike(excess, own));
    if (!alike || chance > limit::kChanceOfAlike) return std::nullopt;
  }
  const double share = static_cast<double>(own.size()) / static_cast<double>(excess.size());
  if (!periodic && !evident && share >= limit::kTransientShare) {
    // Neither rare nor regular: only a stretch of time, such as a fault that came and went. With
    // only one other rank, a busy machine looks the same, except for large spikes of one size.
    if (compared == 2 && (!are_alike(excess, own) || typical < great_ns)) return std::nullopt;
    const size_t stretch = own.back() - own.front() + 1;
    const bool dense =
        static_cast<double>(own.size()) >= limit::kPersistentShare * static_cast<double>(stretch);
    if (!dense && !are_alike(excess, own)) return std::nullopt;
  }
  return Suspect{.rank = rank,
                 .shape = periodic ? Shape::kPeriodic : Shape::kTransient,
                 .when = own,
                 .excess_ns = excess,
                 .share = share,
                 .chance = chance,
                 .onset = {},
                 .turns = {}};
}

std::optional<Suspect> rotating(const std::vector<std::vector<size_t>>& spikes,
                                const std::vector<Series>& excess, const std::vector<size_t>& among,
                                double step_ns) {
  const size_t steps = excess.front().size();
  if (among.size() < 3) return std::nullopt;
  std::vector<size_t> counts;
  std::vector<std::vector<size_t>> late(steps);
  double lost = 0;
  for (const size_t r : among) {
    counts.push_back(spikes[r].size());
    for (const size_t s : spikes[r]) {
      late[s].push_back(r);
      lost += static_cast<double>(excess[r][s]);
    }
  }
  Suspect suspect{.rank = {},
                  .shape = Shape::kRotating,
                  .when = {},
                  .excess_ns = Series(steps, 0),
                  .onset = {},
                  .turns = {}};
  std::vector<double> sizes;
  size_t alone = 0;
  for (size_t s = 0; s < steps; ++s) {
    for (const size_t r : among)
      suspect.excess_ns[s] = std::max(suspect.excess_ns[s], excess[r][s]);
    if (late[s].empty()) continue;
    suspect.when.push_back(s);
    alone += late[s].size() == 1 ? 1 : 0;
    for (const size_t r : by_lateness(excess, late[s], s)) {
      suspect.turns.push_back({r, s});
      sizes.push_back(static_cast<double>(excess[r][s]));
    }
  }
  if (suspect.when.size() < 2 * limit::kLeastSpikes || !is_spread(counts)) return std::nullopt;
  const double time = step_ns * static_cast<double>(steps * among.size());
  const bool of_each = lost >= limit::kOwnLoss * time &&
                       mad_n(sizes) <= limit::kAlike * median(sizes) &&
                       is_a_size(excess, among, median(sizes));
  suspect.one_at_a_time = tail_of(alone, steps, limit::kOneInEach) <= limit::kByLuck;
  if (!of_each && !suspect.one_at_a_time) return std::nullopt;
  suspect.share = static_cast<double>(suspect.when.size()) / static_cast<double>(steps);
  return suspect;
}

std::optional<Suspect> by_turns(const std::vector<Series>& excess, const std::vector<size_t>& among,
                                double threshold) {
  const size_t steps = excess.front().size();
  if (among.size() < 2 || steps == 0) return std::nullopt;
  Suspect suspect{
      .rank = {}, .shape = Shape::kRotating, .when = {}, .excess_ns = {}, .onset = {}, .turns = {}};
  suspect.one_at_a_time = true;
  std::vector<double> leads;
  std::vector<size_t> counts(excess.size(), 0);
  size_t changes = 0;
  std::optional<size_t> former;
  for (size_t s = 0; s < steps; ++s) {
    size_t last = among.front();
    int64_t second = INT64_MIN;
    for (const size_t r : among) {
      if (r == last) continue;
      if (excess[r][s] > excess[last][s]) {
        second = excess[last][s];
        last = r;
      } else {
        second = std::max(second, excess[r][s]);
      }
    }
    suspect.excess_ns.push_back(std::max<int64_t>(0, excess[last][s]));
    const int64_t usual = std::clamp<int64_t>(second, 0, suspect.excess_ns.back());
    leads.push_back(static_cast<double>(suspect.excess_ns.back() - usual));
    changes += former != last ? 1 : 0;
    former = last;
    if (leads.back() <= threshold) continue;
    ++counts[last];
    suspect.when.push_back(s);
    suspect.turns.push_back({last, s});
  }
  const double typical = median(leads);
  if (typical <= threshold) return std::nullopt;
  std::vector<size_t> of_those;
  for (const size_t r : among) of_those.push_back(counts[r]);
  if (!is_spread(of_those)) return std::nullopt;
  const auto alike = static_cast<size_t>(std::ranges::count_if(
      leads, [&](double lead) { return std::abs(lead - typical) <= limit::kSameSize * typical; }));
  // Consecutive steps with the same last rank are one observation.
  if (tail_of(alike * changes / steps, changes, limit::kSameByChance) > limit::kByLuck)
    return std::nullopt;
  suspect.share = static_cast<double>(suspect.when.size()) / static_cast<double>(steps);
  return suspect;
}

}  // namespace dprof::analyzer
