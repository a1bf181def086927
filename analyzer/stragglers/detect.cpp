// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/detect.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "analyzer/stragglers/shape.h"
#include "analyzer/vocabulary/thresholds.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {
// Computation differs by this much between healthy machines of one kind; few peers cannot show it.
constexpr size_t kManyRanks[] = {64, 1024};
constexpr double kPower = 1.645;  // standard deviations above the threshold, for 0.95

// Medians of all values but one, from one sort: O(n log n) for all n of them.
class MedianOfOthers {
 public:
  explicit MedianOfOthers(Series values) : sorted_(std::move(values)) {
    std::ranges::sort(sorted_);
  }

  // `value` is one of those given; equal ones are interchangeable.
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

template <typename Get>
std::vector<Series> excess_by(size_t ranks, size_t steps, const Roles& roles, const Get& get) {
  std::vector<Series> excess(ranks, Series(steps, 0));
  Series values;
  for (size_t set = 0; set < roles.sets.size(); ++set) {
    const std::vector<size_t>& members = roles.sets[set];
    if (members.size() < 2) continue;
    for (size_t s = 0; s < steps; ++s) {
      values.clear();
      for (const size_t r : members) values.push_back(get(r, s));
      const MedianOfOthers others(values);
      for (const size_t r : members) {
        if (roles.set_of[r] == set) excess[r][s] = get(r, s) - others.without(get(r, s));
      }
    }
  }
  return excess;
}

// One view of the ranks: all of their own work, or one kind of it.
struct View {
  const std::vector<Series>* excess = nullptr;
  std::vector<double> typical;     // of each rank
  std::vector<LeaveOneOut> peers;  // the same by set of ranks that are compared
  double prior = limit::kPrior;
};

class Detector {
 public:
  Detector(const OwnWork& work, const Roles& roles, const Excess& excess, int64_t median_step_ns)
      : work_(work), roles_(roles), excess_(excess), step_(static_cast<double>(median_step_ns)) {
    scale_.threshold_ns = limit::kLeastExcess * step_;
    scale_.prior = limit::kPrior + limit::kCrowd * crowd();
    scale_.least_z = limit::kZ;
    for (const size_t many : kManyRanks) {
      if (work.own_ns.size() > many) scale_.least_z += limit::kZStep;
    }
    views_.push_back(
        view([&](size_t r, size_t s) { return work_.own_ns[r][s]; }, &excess_.total, scale_.prior));
    for (size_t k = 0; k < excess_.by_kind.size(); ++k) {
      views_.push_back(view([&](size_t r, size_t s) { return work_.kind_ns[r][s][k]; },
                            &excess_.by_kind[k], computes(k) ? scale_.prior : limit::kHostPrior));
    }
    set_floor();
  }

  [[nodiscard]] const Scale& scale() const { return scale_; }

  std::vector<Suspect> run() {
    const size_t ranks = work_.own_ns.size();
    compare_with_the_rest();
    find_spikes();
    std::vector<Suspect> suspects;
    for (size_t r = 0; r < ranks; ++r) {
      if (!roles_.set_of[r]) continue;
      std::optional<Suspect> one = lasting(r);
      if (!one)
        one = occasional(spikes_.front(), r, excess_.total, compared(), false,
                         limit::kGreatShare * step_);
      if (!one) one = evident(r);
      if (one) suspects.push_back(*std::move(one));
    }
    // Lasting delays are kept; spikes of single ranks are not if all ranks take turns.
    const auto lasts = [](const Suspect& s) { return s.shape == Shape::kPersistent; };
    std::vector<bool> free(ranks, true);
    for (const Suspect& suspect : suspects) free[*suspect.rank] = !lasts(suspect);
    std::vector<size_t> among;
    for (size_t r = 0; r < ranks; ++r) {
      if (free[r] && roles_.set_of[r]) among.push_back(r);
    }
    std::optional<Suspect> one = rotating(spikes_.front(), excess_.total, among, step_);
    if (!one) one = by_turns(excess_.total, among, limit::kNamed * step_);
    if (one) {
      std::erase_if(suspects, [&](const Suspect& s) { return !lasts(s); });
      suspects.push_back(*std::move(one));
    }
    return suspects;
  }

 private:
  template <typename Get>
  View view(const Get& get, const std::vector<Series>* excess, double prior) const {
    View result{.excess = excess, .typical = {}, .peers = {}, .prior = prior};
    for (size_t r = 0; r < work_.own_ns.size(); ++r) {
      Series series;
      for (size_t s = 0; s < work_.steps.size(); ++s) series.push_back(get(r, s));
      result.typical.push_back(static_cast<double>(median_ns(std::move(series))));
    }
    for (const std::vector<size_t>& set : roles_.sets) {
      std::vector<double> of_set;
      for (const size_t r : set) of_set.push_back(result.typical[r]);
      result.peers.emplace_back(std::move(of_set));
    }
    return result;
  }

  // Share of its own time for which a typical rank is ready to run without a core.
  [[nodiscard]] double crowd() const {
    std::vector<double> shares;
    for (size_t r = 0; r < work_.kind_ns.size(); ++r) {
      double own = 0;
      double queued = 0;
      for (size_t s = 0; s < work_.steps.size(); ++s) {
        own += static_cast<double>(work_.own_ns[r][s]);
        queued += static_cast<double>(work_.kind_ns[r][s][index_of(OwnKind::kRunnable)]);
      }
      shares.push_back(own <= 0 ? 0 : queued / own);
    }
    return shares.empty() ? 0 : median(shares);
  }

  // Spread between ranks that can arise by chance.
  [[nodiscard]] double spread(const View& view, size_t rank) const {
    const size_t set = *roles_.set_of[rank];
    const double own = view.typical[rank];
    const double centre = std::abs(view.peers[set].median_without(own));
    const bool enough = roles_.sets[set].size() > 3;
    return std::max({enough ? view.peers[set].mad_n_without(own) : 0.0, view.prior * centre,
                     limit::kLeastScale * step_});
  }

  [[nodiscard]] bool stands_out(const View& view, size_t rank, const Series& excess) const {
    const auto typical = static_cast<double>(median_ns(excess));
    return typical > scale_.least_z * spread(view, rank);
  }

  [[nodiscard]] bool stands_out_in_a_kind(size_t rank) const {
    return std::ranges::any_of(std::span(views_).subspan(1), [&](const View& view) {
      const Series& series = (*view.excess)[rank];
      return lasts(series, scale_.threshold_ns) && stands_out(view, rank, series);
    });
  }

  // Where half of a rank's peers or more are slow as well, each in a way of its own, their median
  // hides it: ranks that stand out by a kind of work are then compared with the rest of their set,
  // beyond what machines differ by.
  void compare_with_the_rest() {
    total_ = excess_.total;
    least_.assign(total_.size(), scale_.threshold_ns);
    for (size_t set = 0; set < roles_.sets.size(); ++set) {
      std::vector<size_t> slow;
      std::vector<size_t> rest;
      for (const size_t r : roles_.sets[set]) {
        (stands_out_in_a_kind(r) ? slow : rest).push_back(r);
      }
      if (rest.empty() || slow.size() < 2 || 2 * (slow.size() - 1) < slow.size() + rest.size() - 1)
        continue;
      std::erase_if(slow, [&](size_t r) { return roles_.set_of[r] != set; });  // judged elsewhere
      std::vector<double> typical;
      for (const size_t r : rest) typical.push_back(views_.front().typical[r]);
      const double differ =
          std::max(scale_.prior * median(std::move(typical)), limit::kLeastScale * step_);
      for (const size_t r : slow)
        least_[r] = std::max(scale_.threshold_ns, scale_.least_z * differ);
      for (size_t s = 0; s < work_.steps.size(); ++s) {
        Series usual;
        for (const size_t r : rest) usual.push_back(work_.own_ns[r][s]);
        const int64_t median = median_ns(std::move(usual));
        for (const size_t r : slow) total_[r][s] = work_.own_ns[r][s] - median;
      }
    }
  }

  [[nodiscard]] bool is_persistent(size_t rank, size_t from) const {
    const auto part = [&](const Series& all) {
      return Series(all.begin() + static_cast<ptrdiff_t>(from), all.end());
    };
    const Series total = part(total_[rank]);
    if (static_cast<double>(median_ns(total)) <= least_[rank]) return false;
    return std::ranges::any_of(views_, [&](const View& view) {
      const Series series = part((*view.excess)[rank]);
      return lasts(series, scale_.threshold_ns) && stands_out(view, rank, series);
    });
  }

  [[nodiscard]] std::optional<Suspect> lasting(size_t rank) const {
    const Series& excess = total_[rank];
    std::optional<size_t> onset = onset_of(excess, scale_.threshold_ns);
    // An intermittent delay has no onset: it would otherwise be its first spike.
    if (onset && !is_persistent(rank, *onset)) onset.reset();
    if (!onset && !is_persistent(rank, 0)) return std::nullopt;
    Suspect suspect{.rank = rank,
                    .shape = Shape::kPersistent,
                    .when = {},
                    .excess_ns = excess,
                    .onset = onset,
                    .turns = {}};
    suspect.beyond_rest = excess != excess_.total[rank];
    suspect.when = spikes_of(excess, scale_.threshold_ns);
    std::erase_if(suspect.when, [&](size_t s) { return s < onset.value_or(0); });
    suspect.share = static_cast<double>(suspect.when.size()) / static_cast<double>(excess.size());
    return suspect;
  }

  void find_spikes() {
    for (size_t v = 0; v < views_.size(); ++v) {
      const bool total = v == 0;
      if (!total && !is_evident(v - 1)) {
        spikes_.emplace_back();
        continue;
      }
      std::vector<double> pooled;
      for (const Series& series : *views_[v].excess)
        pooled.insert(pooled.end(), series.begin(), series.end());
      const double least = (total ? limit::kSpikeShare : limit::kEvidentShare) * step_;
      const double spike = std::max(limit::kSpikeSigmas * mad_n(pooled), least);
      std::vector<std::vector<size_t>> of_view;
      for (const Series& series : *views_[v].excess) of_view.push_back(spikes_of(series, spike));
      spikes_.push_back(std::move(of_view));
    }
  }

  // Ranks with peers: not a server.
  [[nodiscard]] size_t compared() const {
    return static_cast<size_t>(
        std::ranges::count_if(roles_.set_of, [](const auto& set) { return set.has_value(); }));
  }

  // By a kind of time that is normally absent.
  [[nodiscard]] std::optional<Suspect> evident(size_t rank) const {
    for (size_t v = 1; v < views_.size(); ++v) {
      if (spikes_[v].empty()) continue;
      std::optional<Suspect> one = occasional(spikes_[v], rank, *views_[v].excess, compared(), true,
                                              limit::kGreatShare * step_);
      if (!one) continue;
      one->excess_ns = excess_.total[rank];
      return one;
    }
    return std::nullopt;
  }

  void set_floor() {
    std::vector<double> spreads;
    std::vector<double> errors;
    for (size_t r = 0; r < work_.own_ns.size(); ++r) {
      if (!roles_.set_of[r]) continue;
      spreads.push_back(spread(views_.front(), r));
      const std::vector<double> values = doubles(excess_.total[r]);
      const double observations = std::max(1.0, static_cast<double>(values.size()) / 5);
      errors.push_back(1.2533 * mad_n(values) / std::sqrt(observations));
    }
    if (spreads.empty()) return;
    const double spread = median(spreads);
    const double error = median(errors);
    scale_.floor_ns =
        std::max({scale_.threshold_ns, scale_.least_z * spread, scale_.least_z * error}) +
        kPower * std::hypot(spread, error);
  }

  const OwnWork& work_;
  const Roles& roles_;
  const Excess& excess_;
  const double step_;
  Scale scale_;
  std::vector<View> views_;                               // all, then by kind
  std::vector<Series> total_;                             // [rank][entry]: excess_.total, mostly
  std::vector<double> least_;                             // of a rank's typical total
  std::vector<std::vector<std::vector<size_t>>> spikes_;  // by view and rank; empty = not looked at
};

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

Excess excess_of(const OwnWork& work, const Roles& roles) {
  const size_t ranks = work.own_ns.size();
  const size_t steps = work.steps.size();
  Excess excess;
  excess.total =
      excess_by(ranks, steps, roles, [&](size_t r, size_t s) { return work.own_ns[r][s]; });
  if (work.kind_ns.size() != ranks) return excess;
  for (size_t k = 0; k < kOwnKinds; ++k) {
    excess.by_kind.push_back(
        excess_by(ranks, steps, roles, [&](size_t r, size_t s) { return work.kind_ns[r][s][k]; }));
  }
  return excess;
}

Scale scale_of(const OwnWork& work, const Roles& roles, const Excess& excess,
               int64_t median_step_ns) {
  return Detector(work, roles, excess, median_step_ns).scale();
}

std::vector<Suspect> suspects_of(const OwnWork& work, const Roles& roles, const Excess& excess,
                                 int64_t median_step_ns) {
  if (work.own_ns.size() < 2 || work.steps.size() < kLeastSteps) return {};
  return Detector(work, roles, excess, median_step_ns).run();
}

}  // namespace dprof::analyzer
