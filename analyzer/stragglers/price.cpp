// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/price.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analyzer/replay/replayer.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using Times = std::vector<int64_t>;

double mean_of_times(const Times& values) {
  double sum = 0;
  for (const int64_t v : values) sum += static_cast<double>(v);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

Times minus(Times a, const Times& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

// What of an excess is the suspect's delay.
Times delay_in(const Suspect& suspect, const Times& excess) {
  Times delay(excess.size(), 0);
  if (suspect.shape == Shape::kPersistent) {
    const size_t from = suspect.onset.value_or(0);
    const Times lasting(excess.begin() + static_cast<ptrdiff_t>(from), excess.end());
    std::fill(delay.begin() + static_cast<ptrdiff_t>(from), delay.end(),
              std::llround(mean_of_times(lasting)));
    return delay;
  }
  Times others;
  for (size_t s = 0; s < excess.size(); ++s) {
    if (!std::ranges::binary_search(suspect.when, s)) others.push_back(excess[s]);
  }
  const int64_t usual = others.empty() ? 0 : median_ns(std::move(others));
  for (const size_t s : suspect.when) delay[s] = excess[s] - usual;
  return delay;
}

// Half-width of 95 % of a lasting delay, per step of all: each step's excess is an observation of
// it. Others are known step by step.
double error_of(const Suspect& suspect, const Times& excess) {
  if (suspect.shape != Shape::kPersistent) return 0;
  const size_t from = suspect.onset.value_or(0);
  const double share =
      static_cast<double>(excess.size() - from) / static_cast<double>(excess.size());
  return share *
         bootstrap_mean({excess.begin() + static_cast<ptrdiff_t>(from), excess.end()}).half_width;
}

// To what level the longest of these have to be cut, for all cuts together to be that much.
int64_t level_of(Times pieces, int64_t less) {
  std::ranges::sort(pieces, std::greater());
  int64_t sum = 0;
  for (size_t i = 0; less > 0 && i < pieces.size(); ++i) {
    sum += pieces[i];
    const int64_t level = (sum - less) / static_cast<int64_t>(i + 1);
    if (i + 1 == pieces.size() || level >= pieces[i + 1]) return std::max<int64_t>(0, level);
  }
  return pieces.empty() ? 0 : pieces.front();
}

Price price_of(const Times& gain, double error_ns) {
  const double spread = bootstrap_mean({gain.begin(), gain.end()}).half_width;
  return {std::llround(mean_of_times(gain)), std::llround(std::hypot(spread, error_ns))};
}

}  // namespace

Prices::Prices(const Comparison& comparison, const OwnWork& work, const Roles& roles)
    : c_(comparison), work_(work), roles_(roles), replayer_(comparison.replayer) {
  if (replayer_ != nullptr &&
      (replayer_->steps().size() != work_.steps.size() || !replayer_->quality().accepted))
    replayer_ = nullptr;
}

// Beyond the median of those of its set that nobody suspects.
template <typename Get>
Times Prices::excess(size_t rank, const std::vector<bool>& suspected, const Get& get) const {
  Times result(work_.steps.size(), 0);
  if (!roles_.set_of[rank]) return result;
  for (size_t s = 0; s < result.size(); ++s) {
    Times others;
    for (const size_t r : roles_.sets[*roles_.set_of[rank]]) {
      if (r != rank && !suspected[r]) others.push_back(get(r, s));
    }
    if (!others.empty()) result[s] = get(rank, s) - median_ns(std::move(others));
  }
  return result;
}

Prices::Delay Prices::delay_of(const Suspect& suspect, const std::vector<bool>& suspected) const {
  const size_t rank = *suspect.rank;
  const Times total =
      excess(rank, suspected, [&](size_t r, size_t s) { return work_.own_ns[r][s]; });
  Delay delay{.rank = rank,
              .ns = delay_in(suspect, total),
              .by_kind_ns = {},
              .error_ns = error_of(suspect, total)};
  for (size_t k = 0; replayer_ != nullptr && k < kOwnKinds; ++k) {
    const Times of_kind =
        excess(rank, suspected, [&](size_t r, size_t s) { return work_.kind_ns[r][s][k]; });
    delay.by_kind_ns.push_back(delay_in(suspect, of_kind));
  }
  return delay;
}

// In each of its steps the delay is that of the rank that is last.
Prices::Delays Prices::delays_by_turns(const Suspect& suspect) const {
  const std::vector<bool> nobody(work_.own_ns.size(), false);
  const Times of_last = delay_in(suspect, suspect.excess_ns);
  Delays delays;
  std::vector<Times> excesses;
  for (size_t r = 0; r < work_.own_ns.size(); ++r) {
    delays.push_back({.rank = r, .ns = Times(of_last.size(), 0), .by_kind_ns = {}});
    excesses.push_back(excess(r, nobody, [&](size_t o, size_t s) { return work_.own_ns[o][s]; }));
  }
  for (const size_t s : suspect.when) {
    const auto last =
        std::ranges::max_element(excesses, {}, [&](const Times& excess) { return excess[s]; });
    delays[static_cast<size_t>(last - excesses.begin())].ns[s] = of_last[s];
  }
  for (Delay& delay : delays) {
    for (size_t k = 0; replayer_ != nullptr && k < kOwnKinds; ++k) {
      delay.by_kind_ns.push_back(
          excess(delay.rank, nobody, [&](size_t r, size_t s) { return work_.kind_ns[r][s][k]; }));
      for (size_t s = 0; s < delay.ns.size(); ++s) {
        if (delay.ns[s] == 0) delay.by_kind_ns.back()[s] = 0;
      }
    }
  }
  return delays;
}

// Of the rank that is last, if all meet at the end of a step.
Times Prices::lengths(const Delays& delays) const {
  std::vector<Times> own = work_.own_ns;
  for (const Delay& delay : delays) own[delay.rank] = minus(own[delay.rank], delay.ns);
  Times lengths(work_.steps.size(), 0);
  for (const Times& of_rank : own) {
    for (size_t s = 0; s < lengths.size(); ++s) lengths[s] = std::max(lengths[s], of_rank[s]);
  }
  return lengths;
}

Times Prices::gain(const Delays& delays) const {
  if (replayer_ == nullptr) return minus(lengths({}), lengths(delays));
  std::vector<Relief> reliefs;
  for (const Delay& delay : delays) reliefs.push_back(relief_of(delay));
  return replayer_->gain_of(reliefs);
}

// Each kind of own time becomes shorter in each step, its longest pieces first: a delay in one
// micro-batch makes that piece long, a slow stage all of them.
Relief Prices::relief_of(const Delay& delay) const {
  const std::span<const OwnTask> tasks = replayer_->own_work(delay.rank);
  std::vector<Interval> spans;
  for (const OwnTask& task : tasks) spans.push_back(task.span);
  const std::vector<KindNs> kinds = kinds_over(c_.digests[c_.steps.ranks[delay.rank]],
                                               c_.pieces[delay.rank], work_.by_operators, spans);
  Relief relief{.entry = delay.rank, .less_ns = Times(tasks.size(), 0)};
  for (size_t begin = 0; begin < tasks.size();) {
    const uint32_t step = tasks[begin].step;
    size_t end = begin;
    while (end < tasks.size() && tasks[end].step == step) ++end;
    for (size_t k = 0; k < kOwnKinds; ++k) {
      Times pieces;
      for (size_t t = begin; t < end; ++t) pieces.push_back(kinds[t][k]);
      const int64_t most = level_of(pieces, delay.by_kind_ns[k][step]);
      for (size_t t = begin; t < end; ++t)
        relief.less_ns[t] += std::max<int64_t>(0, kinds[t][k] - most);
    }
    begin = end;
  }
  return relief;
}

std::vector<Price> Prices::of(const std::vector<std::vector<Suspect>>& groups) const {
  std::vector<bool> suspected(work_.own_ns.size(), false);
  for (const auto& group : groups) {
    for (const Suspect& suspect : group) {
      if (suspect.rank) suspected[*suspect.rank] = true;
    }
  }
  std::vector<Delays> delays;
  Delays all;
  for (const auto& group : groups) {
    delays.emplace_back();
    for (const Suspect& suspect : group) {
      if (suspect.rank) {
        delays.back().push_back(delay_of(suspect, suspected));
      } else {
        delays.back() = delays_by_turns(suspect);
      }
    }
    all.insert(all.end(), delays.back().begin(), delays.back().end());
  }
  const Times of_all = groups.size() > 1 ? gain(all) : Times();
  std::vector<Price> prices;
  for (const Delays& own : delays) {
    Times won = gain(own);
    if (groups.size() > 1) {
      Delays others;
      for (const Delay& delay : all) {
        if (std::ranges::find(own, delay.rank, &Delay::rank) == own.end()) others.push_back(delay);
      }
      const Times last = minus(of_all, gain(others));
      for (size_t s = 0; s < won.size(); ++s) won[s] = (won[s] + last[s]) / 2;
    }
    double error = 0;
    for (const Delay& delay : own) error = std::max(error, delay.error_ns);
    prices.push_back(price_of(won, error));
  }
  return prices;
}

void widen_costs(const Replay& replay, int64_t median_step_ns, std::vector<Verdict>& verdicts) {
  const int64_t error = std::llround(replay.error() * static_cast<double>(median_step_ns));
  for (Verdict& verdict : verdicts) {
    Straggler& straggler = verdict.straggler;
    straggler.bound_ns =
        error + std::llround(std::hypot(static_cast<double>(straggler.bound_ns),
                                        kGainError * static_cast<double>(straggler.cost_ns)));
    if (!replay.accepted) verdict.straggler.confidence /= 2;
  }
}

}  // namespace dprof::analyzer
