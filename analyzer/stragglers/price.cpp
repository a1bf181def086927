// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/price.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "analyzer/replay/replayer.h"
#include "analyzer/replay/step_lengths.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using Times = std::vector<int64_t>;

Times minus(Times a, const Times& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

// The part of an excess that is the suspect's delay.
Times delay_in(const Suspect& suspect, const Times& excess) {
  Times delay(excess.size(), 0);
  if (suspect.shape == Shape::kPersistent) {
    const size_t from = suspect.onset.value_or(0);
    const Times lasting(excess.begin() + static_cast<ptrdiff_t>(from), excess.end());
    std::fill(delay.begin() + static_cast<ptrdiff_t>(from), delay.end(),
              std::llround(mean_of(lasting)));
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

// Half-width of the 95 % interval of a lasting delay, per step over all steps: each step's excess
// is one observation. Other delays are known step by step.
double error_of(const Suspect& suspect, const Times& excess) {
  if (suspect.shape != Shape::kPersistent) return 0;
  const size_t from = suspect.onset.value_or(0);
  const double share =
      static_cast<double>(excess.size() - from) / static_cast<double>(excess.size());
  return share *
         bootstrap_mean({excess.begin() + static_cast<ptrdiff_t>(from), excess.end()}).half_width;
}

// The level to which the longest of these must be cut so that all cuts add up to `less`.
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
  return {std::llround(mean_of(gain)), std::llround(std::hypot(spread, error_ns))};
}

}  // namespace

Prices::Prices(const Comparison& comparison, const OwnWork& work, const Roles& roles)
    : c_(comparison), work_(work), roles_(roles), replayer_(comparison.replayer) {
  if (replayer_ != nullptr &&
      (replayer_->steps().size() != work_.steps.size() || !replayer_->quality().accepted))
    replayer_ = nullptr;
}

// Beyond the median of the unsuspected ranks of its set.
template <typename Get>
int64_t Prices::excess_in(size_t rank, const std::vector<bool>& suspected, const Get& get) const {
  if (!roles_.set_of[rank]) return 0;
  Times others;
  for (const size_t r : roles_.sets[*roles_.set_of[rank]]) {
    if (r != rank && !suspected[r]) others.push_back(get(r));
  }
  return others.empty() ? 0 : get(rank) - median_ns(std::move(others));
}

template <typename Get>
Times Prices::excess(size_t rank, const std::vector<bool>& suspected, const Get& get) const {
  Times result;
  for (size_t s = 0; s < work_.steps.size(); ++s)
    result.push_back(excess_in(rank, suspected, [&](size_t r) { return get(r, s); }));
  return result;
}

Prices::Delay Prices::delay_of(const Suspect& suspect, const std::vector<bool>& suspected,
                               const std::vector<Usual>& usual) const {
  const size_t rank = *suspect.rank;
  const Times total =
      excess(rank, suspected, [&](size_t r, size_t s) { return work_.own_ns[r][s]; });
  Delay delay{.rank = rank,
              .ns = delay_in(suspect, total),
              .relief = {},
              .error_ns = error_of(suspect, total)};
  if (replayer_ == nullptr) return delay;
  if (roles_.set_of[rank] && !roles_.alone(rank)) {
    if (auto relief = relief_by_places(suspect, delay.ns, usual[*roles_.set_of[rank]])) {
      delay.relief = *std::move(relief);
      return delay;
    }
  }
  ByKind by_kind;
  for (size_t k = 0; k < kOwnKinds; ++k) {
    const Times of_kind =
        excess(rank, suspected, [&](size_t r, size_t s) { return work_.kind_ns[r][s][k]; });
    by_kind.push_back(delay_in(suspect, of_kind));
  }
  delay.relief = relief_by_kinds(rank, by_kind);
  return delay;
}

// Each rank's excess over its peers when it is its turn.
Prices::Delays Prices::delays_by_turns(const Suspect& suspect,
                                       const std::vector<bool>& suspected) const {
  const Times of_last = delay_in(suspect, suspect.excess_ns);
  std::map<size_t, std::pair<Delay, ByKind>> of_rank;
  for (const auto& [rank, step] : suspect.turns) {
    auto& [delay, by_kind] = of_rank[rank];
    if (delay.ns.empty()) {
      delay = {.rank = rank, .ns = Times(of_last.size(), 0), .relief = {}};
      if (replayer_ != nullptr) by_kind.assign(kOwnKinds, Times(of_last.size(), 0));
    }
    const int64_t usual = suspect.excess_ns[step] - of_last[step];
    delay.ns[step] =
        excess_in(rank, suspected, [&, at = step](size_t r) { return work_.own_ns[r][at]; }) -
        usual;
    for (size_t k = 0; k < by_kind.size(); ++k) {
      by_kind[k][step] =
          excess_in(rank, suspected, [&, at = step](size_t r) { return work_.kind_ns[r][at][k]; });
    }
  }
  Delays delays;
  for (auto& [rank, one] : of_rank) {
    auto& [delay, by_kind] = one;
    if (replayer_ != nullptr) delay.relief = relief_by_kinds(rank, by_kind);
    delays.push_back(std::move(delay));
  }
  return delays;
}

// Of the last rank, if all meet at the end of a step.
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
  for (const Delay& delay : delays) reliefs.push_back(delay.relief);
  return replayer_->gain_of(reliefs);
}

// Each kind of own time is shortened in each step, its longest pieces first: a delay in one
// micro-batch makes that piece long, a slow stage all of them.
Relief Prices::relief_by_kinds(size_t rank, const ByKind& delay) const {
  const std::span<const OwnTask> tasks = replayer_->own_work(rank);
  std::vector<Interval> spans;
  for (const OwnTask& task : tasks) spans.push_back(task.span);
  const std::vector<KindNs> kinds = kinds_over(
      c_.digests[c_.steps.ranks[rank]], c_.pieces[c_.steps.ranks[rank]], work_.by_operators, spans);
  Relief relief{.entry = rank, .less_ns = Times(tasks.size(), 0)};
  for (size_t begin = 0; begin < tasks.size();) {
    const uint32_t step = tasks[begin].step;
    size_t end = begin;
    while (end < tasks.size() && tasks[end].step == step) ++end;
    for (size_t k = 0; k < kOwnKinds; ++k) {
      Times pieces;
      for (size_t t = begin; t < end; ++t) pieces.push_back(kinds[t][k]);
      const int64_t most = level_of(pieces, delay[k][step]);
      for (size_t t = begin; t < end; ++t)
        relief.less_ns[t] += std::max<int64_t>(0, kinds[t][k] - most);
    }
    begin = end;
  }
  return relief;
}

Prices::Usual Prices::usual_at_places(size_t set, const std::vector<bool>& suspected) const {
  const RunGraph& run = replayer_->run();
  std::vector<bool> counts(suspected.size(), false);
  for (const size_t rank : roles_.sets[set]) counts[rank] = !suspected[rank];
  Usual usual;
  Times own;
  for (const Place& place : run.places) {
    const auto peers = std::ranges::count_if(run.alike[place.alike],
                                             [&](uint32_t entry) { return counts[entry]; });
    own.clear();
    uint32_t former = 0;
    for (const OwnSegment& segment : std::span(run.segments).subspan(place.first, place.count)) {
      if (!counts[segment.entry]) continue;
      if (own.empty() || former != segment.entry) own.push_back(0);
      own.back() += segment.own_ns;  // before and after it was held up there
      former = segment.entry;
    }
    own.resize(static_cast<size_t>(peers), 0);  // a rank without a segment did nothing there
    usual.push_back(median_if_any(own));
  }
  return usual;
}

// nullopt: it works where it has no peers.
std::optional<Relief> Prices::relief_by_places(const Suspect& suspect, const Times& delay,
                                               const Usual& usual) const {
  struct Here {
    uint32_t step = 0;
    size_t first = 0;  // of its own tasks
    size_t end = 0;
    int64_t excess_ns = 0;
  };
  const RunGraph& run = replayer_->run();
  const std::span<const OwnTask> tasks = replayer_->own_work(*suspect.rank);
  const size_t offset = run.own_tasks_of[*suspect.rank];
  std::vector<std::vector<Here>> spots(run.spots);
  for (size_t p = 0; p < run.places.size(); ++p) {
    const Place& place = run.places[p];
    const auto all = std::span(run.segments).subspan(place.first, place.count);
    const auto entry = static_cast<uint32_t>(*suspect.rank);
    const std::span<const OwnSegment> own(
        std::ranges::lower_bound(all, entry, {}, &OwnSegment::entry),
        std::ranges::upper_bound(all, entry, {}, &OwnSegment::entry));
    if (own.empty()) continue;
    if (!usual[p]) return std::nullopt;
    Here here{.step = place.step,
              .first = own.front().first - offset,
              .end = own.back().first + own.back().count - offset,
              .excess_ns = -*usual[p]};
    for (const OwnSegment& segment : own) here.excess_ns += segment.own_ns;
    spots[place.spot].push_back(here);
  }
  Relief relief{.entry = *suspect.rank, .less_ns = Times(tasks.size(), 0)};
  // The longest pieces there first; a rank with less work than its peers is not lengthened.
  const auto take = [&](const Here& here, int64_t less) {
    Times pieces;
    for (size_t t = here.first; t < here.end; ++t) pieces.push_back(tasks[t].span.length().ns);
    if (less < 0) {
      const auto longest = std::ranges::max_element(pieces) - pieces.begin();
      relief.less_ns[here.first + static_cast<size_t>(longest)] = less;
      return;
    }
    const int64_t most = level_of(pieces, less);
    for (size_t t = here.first; t < here.end; ++t)
      relief.less_ns[t] = std::max<int64_t>(0, pieces[t - here.first] - most);
  };
  std::vector<std::vector<Here>> striking(delay.size());  // by step; excess beyond the usual one
  for (std::vector<Here>& spot : spots) {
    if (suspect.shape == Shape::kPersistent) {
      const size_t from = suspect.onset.value_or(0);
      std::erase_if(spot, [&](const Here& here) { return here.step < from; });
      Times lasting;
      for (const Here& here : spot) lasting.push_back(here.excess_ns);
      for (const Here& here : spot) take(here, std::llround(mean_of(lasting)));
      continue;
    }
    const auto strikes = [&](const Here& here) {
      return std::ranges::binary_search(suspect.when, size_t{here.step});
    };
    Times others;
    for (const Here& here : spot) {
      if (!strikes(here)) others.push_back(here.excess_ns);
    }
    const int64_t often = median_if_any(std::move(others)).value_or(0);
    for (Here& here : spot) {
      here.excess_ns -= often;
      if (strikes(here)) striking[here.step].push_back(here);
    }
  }
  for (size_t s = 0; s < striking.size(); ++s) {
    Times beyond;
    for (const Here& here : striking[s]) beyond.push_back(std::max<int64_t>(0, here.excess_ns));
    const int64_t most = level_of(beyond, delay[s]);
    for (size_t i = 0; i < beyond.size(); ++i)
      take(striking[s][i], std::max<int64_t>(0, beyond[i] - most));
  }
  return relief;
}

// The cost of each group, by step.
std::vector<Times> Prices::shares_of(const std::vector<Delays>& groups) const {
  std::vector<Times> shares;
  for (const Delays& own : groups) shares.push_back(gain(own));
  if (groups.size() < 2) return shares;
  const auto without = [&](size_t group) {
    Delays others;
    for (size_t g = 0; g < groups.size(); ++g) {
      if (g != group) others.insert(others.end(), groups[g].begin(), groups[g].end());
    }
    return others;
  };
  Delays gone;
  for (const Delays& own : groups) gone.insert(gone.end(), own.begin(), own.end());
  const Times of_all = gain(gone);
  // Alone and after all others: the largest effect is large in both.
  std::vector<std::pair<double, size_t>> order;
  for (size_t g = 0; g < groups.size(); ++g) {
    const double last = mean_of(minus(of_all, gain(without(g))));
    order.emplace_back(mean_of(shares[g]) + last, g);
  }
  std::ranges::stable_sort(order, std::greater{}, [](const auto& one) { return one.first; });
  // Groups that are removed in turn and share their cost.
  struct Block {
    std::vector<size_t> groups;
    Times gain;
    [[nodiscard]] double each() const { return mean_of(gain) / static_cast<double>(groups.size()); }
  };
  std::vector<Block> blocks;
  Times before(of_all.size(), 0);
  gone.clear();
  for (const auto& [weight, g] : order) {
    gone.insert(gone.end(), groups[g].begin(), groups[g].end());
    const Times now = gain(gone);
    blocks.push_back({{g}, minus(now, before)});
    before = now;
    while (blocks.size() > 1 && blocks.back().each() > blocks[blocks.size() - 2].each()) {
      const Block last = std::move(blocks.back());
      blocks.pop_back();
      Block& former = blocks.back();
      former.groups.insert(former.groups.end(), last.groups.begin(), last.groups.end());
      for (size_t s = 0; s < former.gain.size(); ++s) former.gain[s] += last.gain[s];
    }
  }
  for (const Block& block : blocks) {
    for (const size_t g : block.groups) {
      shares[g] = block.gain;
      for (int64_t& ns : shares[g]) ns /= static_cast<int64_t>(block.groups.size());
    }
  }
  return shares;
}

std::vector<Price> Prices::of(const std::vector<std::vector<Suspect>>& groups) const {
  std::vector<bool> suspected(work_.own_ns.size(), false);
  for (const auto& group : groups) {
    for (const Suspect& suspect : group) {
      if (suspect.rank) suspected[*suspect.rank] = true;
    }
  }
  std::vector<Usual> usual;
  for (size_t set = 0; replayer_ != nullptr && !groups.empty() && set < roles_.sets.size(); ++set)
    usual.push_back(usual_at_places(set, suspected));
  std::vector<Delays> delays;
  for (const auto& group : groups) {
    delays.emplace_back();
    for (const Suspect& suspect : group) {
      if (suspect.rank) {
        delays.back().push_back(delay_of(suspect, suspected, usual));
      } else {
        delays.back() = delays_by_turns(suspect, suspected);
      }
    }
  }
  const std::vector<Times> shares = shares_of(delays);
  std::vector<Price> prices;
  for (size_t g = 0; g < delays.size(); ++g) {
    double error = 0;
    for (const Delay& delay : delays[g]) error = std::max(error, delay.error_ns);
    prices.push_back(price_of(shares[g], error));
    if (groups[g].size() > 1)
      prices.back().first_alone_ns = std::llround(mean_of(gain({delays[g].front()})));
  }
  return prices;
}

Price confirmed(const Price& price, int rank, const WhatIfModel& model) {
  const Result<Change> change = parse_change(fmt::format("rank:{}=peers", rank));
  if (!change.ok()) return price;
  const Result<WhatIf> answer = model.answer(std::span(&*change, 1));
  if (!answer.ok() || !answer->gain_ns) return price;
  const int64_t bound_ns = answer->bound_ns.value_or(0);
  if (price.cost_ns - *answer->gain_ns <= price.bound_ns + bound_ns) return price;
  return {.cost_ns = std::max<int64_t>(0, *answer->gain_ns),
          .bound_ns = bound_ns,
          .unconfirmed_ns = price.cost_ns};
}

int64_t bound_with_replay(const Replay& replay, int64_t median_step_ns, const Straggler& s) {
  const int64_t error = std::llround(replay.error() * static_cast<double>(median_step_ns));
  return error + std::llround(std::hypot(static_cast<double>(s.bound_ns),
                                         kGainError * static_cast<double>(s.cost_ns)));
}

void widen_costs(const Replay& replay, int64_t median_step_ns, std::vector<Verdict>& verdicts) {
  for (Verdict& verdict : verdicts) {
    Straggler& straggler = verdict.straggler;
    straggler.bound_ns = bound_with_replay(replay, median_step_ns, straggler);
    if (!replay.accepted) straggler.confidence /= 2;
  }
}

}  // namespace dprof::analyzer
