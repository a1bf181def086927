// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/stragglers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analyzer/stragglers/cause.h"
#include "analyzer/stragglers/counterfactual.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kInfoShare = 0.01;       // of the median step
constexpr double kRelativeOfTwo = 0.15;   // of the peer's time of that kind of computation
constexpr double kFluctuationsOfTwo = 2;  // and of how much computation fluctuates
constexpr size_t kEvidenceRows = 20;

int64_t mean_per_step(const std::vector<int64_t>& values, size_t steps) {
  const int64_t sum = std::accumulate(values.begin(), values.end(), int64_t{0});
  return steps == 0 ? 0 : sum / static_cast<int64_t>(steps);
}

class Judge {
 public:
  explicit Judge(const Comparison& c)
      : c_(c), recorded_(replay(c.meetings, {})), steady_(c.steps.steady().size()) {}

  std::vector<Verdict> run() {
    std::vector<Verdict> verdicts;
    for (const Suspect& suspect : suspects_of(c_.work, median_step())) {
      Verdict verdict = judge_one(suspect);
      if (share(verdict.straggler.cost_ns) >= kInfoShare) verdicts.push_back(std::move(verdict));
    }
    std::ranges::stable_sort(verdicts, std::greater{},
                             [](const Verdict& v) { return v.straggler.cost_ns; });
    return verdicts;
  }

 private:
  [[nodiscard]] int64_t median_step() const { return c_.steps.info.median_ns; }
  [[nodiscard]] double share(int64_t ns) const {
    return static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(1, median_step()));
  }

  [[nodiscard]] int64_t cost_of(const Replacement& replacement) const {
    return mean_per_step(gain_of(c_.meetings, recorded_, replacement), steady_);
  }

  // What the same replacement promises for an ordinary rank: fluctuation alone gains something,
  // too.
  [[nodiscard]] int64_t usual_cost(size_t rank) const {
    std::vector<int64_t> costs;
    for (size_t r = 0; r < c_.work.own_ns.size(); ++r) {
      if (r != rank) costs.push_back(cost_of({.rank = r}));
    }
    return median_ns(std::move(costs));
  }

  Verdict judge_one(const Suspect& suspect) {
    const Replacement replacement{.rank = suspect.rank, .all = !suspect.rank};
    const std::vector<int64_t> gain = gain_of(c_.meetings, recorded_, replacement);
    const Cause cause = cause_of_suspect(suspect);
    Verdict verdict;
    Straggler& s = verdict.straggler;
    if (suspect.rank) s.rank = rank_of(*suspect.rank);
    s.shape = word_of(suspect.shape);
    s.cause = cause.word;
    s.own_delay_ns = mean_per_step(suspect.excess_ns, steady_);
    s.cost_ns = mean_per_step(gain, steady_);
    const Estimate spread = bootstrap_mean({gain.begin(), gain.end()});
    s.bound_ns = std::llround(spread.half_width * static_cast<double>(gain.size()) /
                              static_cast<double>(std::max<size_t>(1, steady_)));
    s.n = static_cast<int64_t>(gain.size());
    s.confidence = confidence_of(suspect, s);
    s.evidence = evidence_of(suspect, cause.phase);
    verdict.share_of_steps = suspect.share;
    verdict.step_ns = mean_per_step(recorded_, steady_) - s.cost_ns;
    verdict.kind = cause.kind;
    verdict.kind_ns = cause.own_ns;
    verdict.peers_kind_ns = cause.peers_ns;
    verdict.named = is_culprit(suspect, s, cause);
    return verdict;
  }

  // What lasts is judged over all steps: those in which it shows are those in which chance helped.
  [[nodiscard]] Cause cause_of_suspect(const Suspect& suspect) const {
    if (suspect.shape != Shape::kPersistent)
      return cause_of(c_.work, suspect.rank, suspect.when, Over::kAll);
    std::vector<size_t> all(c_.work.steps.size());
    std::iota(all.begin(), all.end(), size_t{0});
    return cause_of(c_.work, suspect.rank, all, Over::kTypical);
  }

  // Two ranks that share cores differ by chance for longer than a short run. Against one other rank
  // only, computation that is slower as a whole, a little, or by no more than it fluctuates,
  // accuses nobody.
  [[nodiscard]] bool is_clear_between_two(const Suspect& suspect, const Cause& cause) const {
    const bool computes = cause.phase == schema::Marker::kForward ||
                          cause.phase == schema::Marker::kBackward ||
                          cause.phase == schema::Marker::kOptimizer;
    const double usual = std::max(kRelativeOfTwo, kFluctuationsOfTwo * fluctuation_of(c_.work));
    if (computes && (cause.uniform || cause.relative < usual)) return false;
    return suspect.shape != Shape::kPersistent || cause.steady;
  }

  [[nodiscard]] bool is_culprit(const Suspect& suspect, const Straggler& s,
                                const Cause& cause) const {
    const bool two = c_.work.own_ns.size() == 2;
    if (two && !is_clear_between_two(suspect, cause)) return false;
    const int64_t usual = suspect.rank ? usual_cost(*suspect.rank) : 0;
    return share(s.cost_ns - usual) >= straggler_floor(c_.work.own_ns.size());
  }

  [[nodiscard]] int rank_of(size_t entry) const { return c_.digests[c_.steps.ranks[entry]].rank; }

  // Certain when it shows in every step where it is said to, its cost is sharp, and there is a
  // majority to compare with.
  [[nodiscard]] double confidence_of(const Suspect& suspect, const Straggler& s) const {
    const double sharp =
        s.cost_ns <= 0
            ? 0
            : 1 - std::min(1.0, static_cast<double>(s.bound_ns) / static_cast<double>(s.cost_ns));
    const double shows = suspect.shape == Shape::kPersistent ? suspect.share : 0.8;
    const double majority = c_.work.own_ns.size() > 2 ? 1.0 : 0.8;
    return std::clamp(std::sqrt(sharp * shows) * majority, 0.0, 1.0);
  }

  // The step in which the delay is most like itself, what the rank did there, who waited, and the
  // rows of the other steps.
  std::vector<Evidence> evidence_of(const Suspect& suspect, schema::Marker phase) const {
    if (suspect.when.empty()) return {};
    std::vector<size_t> by_excess = suspect.when;
    std::ranges::sort(by_excess, {}, [&](size_t s) { return suspect.excess_ns[s]; });
    const size_t typical = by_excess[by_excess.size() / 2];
    const size_t entry = suspect.rank ? *suspect.rank : slowest_at(typical);
    std::vector<Evidence> evidence;
    add_phase(evidence, entry, phase, {typical});
    add_waiting(evidence, entry, typical);
    if (suspect.rank) {
      std::vector<size_t> dearest(by_excess.rbegin(), by_excess.rend());
      dearest.resize(std::min(dearest.size(), kEvidenceRows));
      std::ranges::sort(dearest);
      add_phase(evidence, entry, phase, dearest);
    }
    return evidence;
  }

  [[nodiscard]] size_t slowest_at(size_t step) const {
    size_t slowest = 0;
    for (size_t r = 1; r < c_.work.own_ns.size(); ++r) {
      if (c_.work.own_ns[r][step] > c_.work.own_ns[slowest][step]) slowest = r;
    }
    return slowest;
  }

  [[nodiscard]] Interval window_of(size_t entry, size_t step) const {
    return c_.steps.steps[c_.work.steps[step]].windows[entry];
  }

  // The rows of the phase in those steps; without any, the steps' spans alone.
  void add_phase(std::vector<Evidence>& evidence, size_t entry, schema::Marker phase,
                 const std::vector<size_t>& when) const {
    Evidence one{.rank = rank_of(entry), .table = "host_range", .rows = {}};
    const std::vector<PhaseRange>& phases = c_.digests[c_.steps.ranks[entry]].phases;
    Interval whole{{INT64_MAX}, {INT64_MIN}};
    const auto widen = [&](Interval span) {
      whole.begin = std::min(whole.begin, span.begin);
      whole.end = std::max(whole.end, span.end);
    };
    for (const size_t step : when) {
      const Interval window = window_of(entry, step);
      bool found = false;
      auto next = std::ranges::lower_bound(phases, window.begin, {},
                                           [](const PhaseRange& p) { return p.span.begin; });
      for (; next != phases.end() && next->span.begin < window.end; ++next) {
        if (next->marker != phase || next->row == 0) continue;
        if (one.rows.size() < kEvidenceRows) one.rows.push_back(next->row);
        widen(next->span);
        found = true;
      }
      if (!found) widen(window);
    }
    if (one.rows.empty()) one.table = "step";
    one.start_ns = whole.begin.ns;
    one.end_ns = whole.end.ns;
    evidence.push_back(std::move(one));
  }

  // The collective of that step in which another rank waited longest.
  void add_waiting(std::vector<Evidence>& evidence, size_t culprit, size_t step) const {
    const Member* longest = nullptr;
    for (const Meeting& meeting : c_.meetings) {
      if (meeting.step != c_.work.steps[step]) continue;
      for (const Member& member : c_.matching.instances[meeting.instance].members) {
        if (member.digest == c_.steps.ranks[culprit]) continue;
        if (longest == nullptr || member.wait_ns > longest->wait_ns) longest = &member;
      }
    }
    if (longest == nullptr) return;
    const RankDigest& victim = c_.digests[longest->digest];
    const CollectiveRecord& record = victim.collectives[longest->record];
    evidence.push_back({.rank = victim.rank,
                        .table = "collective",
                        .rows = {record.row},
                        .start_ns = record.start->ns,
                        .end_ns = record.end->ns});
  }

  const Comparison& c_;
  std::vector<int64_t> recorded_;
  size_t steady_;
};

}  // namespace

std::vector<Verdict> judge(const Comparison& comparison) {
  if (comparison.meetings.empty() || comparison.work.own_ns.size() < 2) return {};
  return Judge(comparison).run();
}

}  // namespace dprof::analyzer
