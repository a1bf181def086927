// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/cause.h"

#include <algorithm>
#include <array>

#include "analyzer/stragglers/kinds.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using schema::Marker;

constexpr double kDominant = 0.6;  // of the delay
constexpr double kSteady = 2;      // times the fluctuation between steps
constexpr double kMatters = 0.1;   // of a rank's own work
constexpr double kBest = 0.05;     // quantile of the steps that counts as best: the least is luck
constexpr double kUniform = 0.4;   // the rest's relative excess, of the dominant kind's

size_t slowest_at(const OwnWork& work, size_t step) {
  size_t slowest = 0;
  for (size_t r = 1; r < work.own_ns.size(); ++r) {
    if (work.own_ns[r][step] > work.own_ns[slowest][step]) slowest = r;
  }
  return slowest;
}

int64_t mean(const std::vector<int64_t>& values) {
  int64_t sum = 0;
  for (const int64_t v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<int64_t>(values.size());
}

struct Difference {
  int64_t own_ns = 0;
  int64_t peers_ns = 0;
  int64_t delta_ns = 0;
  double spread_ns = 0;      // of delta between steps
  double best_delta_ns = 0;  // between the best steps of either side
  double best_peers_ns = 0;  // the peers' best
};
using Differences = std::array<Difference, kKinds.size()>;

Difference difference_of(const OwnWork& work, std::optional<size_t> rank,
                         const std::vector<size_t>& when, const Kind& kind, Over over) {
  std::vector<int64_t> own;
  std::vector<int64_t> peers;
  std::vector<int64_t> delta;
  for (const size_t step : when) {
    const size_t r = rank ? *rank : slowest_at(work, step);
    std::vector<int64_t> others;
    for (size_t o = 0; o < work.sums.size(); ++o) {
      if (o != r) others.push_back(kind.of(work.sums[o][step]));
    }
    own.push_back(kind.of(work.sums[r][step]));
    peers.push_back(median_ns(std::move(others)));
    delta.push_back(own.back() - peers.back());
  }
  const double spread = mad_n({delta.begin(), delta.end()});
  const double best_own = quantile({own.begin(), own.end()}, kBest);
  const double best_peers = quantile({peers.begin(), peers.end()}, kBest);
  if (over == Over::kAll)
    return {mean(own), mean(peers), mean(delta), spread, best_own - best_peers, best_peers};
  return {median_ns(own), median_ns(peers),      median_ns(delta),
          spread,         best_own - best_peers, best_peers};
}

// A process that shares the core disturbs most steps, but not all of them; what a rank has to do by
// itself is there in its best steps as well. So these are compared.
double relative_of(const Difference& difference) {
  return difference.best_delta_ns / std::max(1.0, difference.best_peers_ns);
}

// The dominant kind is not slower out of proportion to the other computation.
bool is_uniform(const Differences& differences, size_t dominant) {
  if (kKinds[dominant].cause != "compute") return false;
  double rest_ns = 0;
  double rest_delta_ns = 0;
  for (size_t k = 0; k < kKinds.size(); ++k) {
    if (k == dominant || kKinds[k].cause != "compute") continue;
    rest_ns += differences[k].best_peers_ns;
    rest_delta_ns += differences[k].best_delta_ns;
  }
  return rest_ns > 0 && rest_delta_ns / rest_ns > kUniform * relative_of(differences[dominant]);
}

}  // namespace

double fluctuation_of(const OwnWork& work) {
  double most = 0;
  for (size_t r = 0; r < work.sums.size(); ++r) {
    const double whole = median({work.own_ns[r].begin(), work.own_ns[r].end()});
    for (const Kind& kind : kKinds) {
      if (kind.cause != "compute") continue;
      std::vector<double> series;
      for (const Sums& sums : work.sums[r]) series.push_back(static_cast<double>(kind.of(sums)));
      const double typical = median(series);
      if (typical >= kMatters * whole && typical > 0)
        most = std::max(most, mad_n(series) / typical);
    }
  }
  return most;
}

Cause cause_of(const OwnWork& work, std::optional<size_t> rank, const std::vector<size_t>& when,
               Over over) {
  Differences differences;
  std::array<int64_t, kKinds.size()> of_cause{};  // at the cause's first kind
  int64_t total = 0;
  for (size_t k = 0; k < kKinds.size(); ++k) {
    differences[k] = difference_of(work, rank, when, kKinds[k], over);
    const auto first = std::ranges::find(kKinds, kKinds[k].cause, &Kind::cause);
    of_cause[static_cast<size_t>(first - kKinds.begin())] += differences[k].delta_ns;
  }
  for (const int64_t delta : of_cause) total += std::max<int64_t>(0, delta);
  if (total <= 0) return {.word = "unknown", .kind = {}};
  const auto top = static_cast<size_t>(std::ranges::max_element(of_cause) - of_cause.begin());
  size_t best = top;
  for (size_t k = 0; k < kKinds.size(); ++k) {
    if (kKinds[k].cause == kKinds[top].cause &&
        differences[k].delta_ns > differences[best].delta_ns)
      best = k;
  }
  const Difference& of_best = differences[best];
  Cause cause{.word = std::string(kKinds[best].cause),
              .kind = std::string(kKinds[best].name),
              .own_ns = of_best.own_ns,
              .peers_ns = of_best.peers_ns,
              .phase = kKinds[best].phase,
              .relative = relative_of(of_best),
              .steady = static_cast<double>(of_best.delta_ns) >= kSteady * of_best.spread_ns,
              .uniform = is_uniform(differences, best)};
  if (static_cast<double>(of_cause[top]) < kDominant * static_cast<double>(total)) {
    cause.word = "mixed";
    cause.kind.clear();
  }
  return cause;
}

}  // namespace dprof::analyzer
