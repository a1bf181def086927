// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/operation_verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "analyzer/replay/slowdown.h"
#include "analyzer/vocabulary/thresholds.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {
constexpr size_t kCandidates = 20;
constexpr size_t kEvidenceRows = 20;

std::vector<int64_t> difference(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> result(a.size());
  for (size_t i = 0; i < a.size(); ++i) result[i] = a[i] - b[i];
  return result;
}

class OperationJudge {
 public:
  OperationJudge(const OperationRun& run, std::span<const RankDigest> digests, const Steps& steps)
      : run_(run), digests_(digests), steps_(steps), even_(run), recorded_(even_.recorded()) {
    for (const OperationTask& one : run.tasks) {
      if (!run.kinds[one.kind].computes) continue;
      auto& of_rank = computed_[one.entry];
      if (of_rank.empty())
        of_rank.resize(run.steps.size(), std::vector<int64_t>(run.kinds.size(), 0));
      of_rank[one.step][one.kind] += run.graph.durations()[one.task];
    }
  }

  std::vector<Verdict> verdicts() {
    std::vector<Verdict> all;
    if (std::optional<Verdict> stage = long_stage()) all.push_back(*std::move(stage));
    for (const size_t rank : candidates()) {
      if (std::optional<Verdict> one = slow_rank(rank)) all.push_back(*std::move(one));
    }
    std::erase_if(all, [&](const Verdict& v) {
      return static_cast<double>(v.straggler.cost_ns) < limit::kInfoShare * mean_of(recorded_);
    });
    std::ranges::stable_sort(all, std::greater{},
                             [](const Verdict& v) { return v.straggler.cost_ns; });
    return all;
  }

 private:
  using PerStep = std::vector<double>;

  [[nodiscard]] size_t count() const { return run_.steps.size(); }

  // Mean computation of some ranks in each step, of one kind or of all.
  [[nodiscard]] PerStep computation(const std::vector<size_t>& entries,
                                    std::optional<size_t> kind = {}) const {
    PerStep sums(count(), 0);
    for (const size_t entry : entries) {
      const auto known = computed_.find(static_cast<uint32_t>(entry));
      if (known == computed_.end()) continue;
      for (size_t s = 0; s < known->second.size(); ++s) {
        const std::vector<int64_t>& kinds = known->second[s];
        sums[s] +=
            kind ? static_cast<double>(kinds[*kind])
                 : static_cast<double>(std::accumulate(kinds.begin(), kinds.end(), int64_t{0}));
      }
    }
    for (double& sum : sums) sum /= static_cast<double>(std::max<size_t>(1, entries.size()));
    return sums;
  }

  static double mean(const PerStep& values) {
    return values.empty() ? 0
                          : std::accumulate(values.begin(), values.end(), 0.0) /
                                static_cast<double>(values.size());
  }

  std::optional<Verdict> long_stage() const {
    const Pipelines& pipelines = run_.pipelines;
    const double lost = mean_of(recorded_) - mean_of(even_.even());
    if (pipelines.stages < 2 || lost <= 0) return std::nullopt;
    size_t longest = 0;
    double most = 0;
    for (size_t p = 0; p < pipelines.stages; ++p) {
      const double length = mean_of(even_.only(pipelines.with_stage(p)));
      if (length <= most) continue;
      most = length;
      longest = p;
    }
    const std::vector<size_t> members = pipelines.with_stage(longest);
    const std::vector<int64_t> gain = difference(recorded_, even_.without(members));
    const double share = std::min(1.0, mean_of(gain) / lost);
    if (share < limit::kStageShare) return std::nullopt;
    std::vector<size_t> others;
    for (size_t r = 0; r < pipelines.of.size(); ++r) {
      if (pipelines.of[r].stage != longest) others.push_back(r);
    }
    // Redistributing the work gains no more than the total loss, whatever the stage alone would
    // gain.
    std::vector<int64_t> cost = difference(recorded_, even_.even());
    for (int64_t& ns : cost) ns = std::llround(share * static_cast<double>(ns));
    Verdict verdict = verdict_of(members, others, cost);
    Straggler& s = verdict.straggler;
    s.cause = "stage_imbalance";
    s.role = stage_words(longest, pipelines.stages);
    for (const size_t entry : members) s.host_ranks.push_back(rank_of(entry));
    s.confidence = std::min(1.0, share) * verdict.share_of_steps;
    verdict.named = is_dear(s) && verdict.share_of_steps >= limit::kLasting;
    verdict.decided_by.push_back(fmt::format(
        "Each rank of {} computes {:.1f} ms per step, ranks of the other stages {:.1f} ms on average.",
        s.role, mean(computation(members)) / 1e6, mean(computation(others)) / 1e6));
    verdict.decided_by.push_back(
        fmt::format("Replayed with even operations a step takes {:.1f} ms instead of {:.1f} ms; "
                    "evening out only this stage gains {:.0f} % of that.",
                    mean_of(even_.even()) / 1e6, mean_of(recorded_) / 1e6, 100 * share));
    verdict.refuted_by.push_back("Moving layers to other stages without making steps shorter.");
    return verdict;
  }

  // Ranks that compute more than the others of their stage, the most first.
  [[nodiscard]] std::vector<size_t> candidates() const {
    std::vector<std::pair<double, size_t>> excess;
    for (size_t r = 0; r < run_.pipelines.of.size(); ++r) {
      const std::vector<size_t> peers = peers_of(r);
      if (peers.empty()) continue;
      const double more = mean(computation({r})) - mean(computation(peers));
      if (more > 0) excess.emplace_back(more, r);
    }
    std::ranges::sort(excess, std::greater{});
    excess.resize(std::min(excess.size(), kCandidates));
    std::vector<size_t> ranks;
    for (const auto& [more, rank] : excess) ranks.push_back(rank);
    return ranks;
  }

  [[nodiscard]] std::vector<size_t> peers_of(size_t entry) const {
    std::vector<size_t> peers = run_.pipelines.with_stage(run_.pipelines.of[entry].stage);
    std::erase(peers, entry);
    return peers;
  }

  std::optional<Verdict> slow_rank(size_t entry) const {
    const std::optional<std::vector<int64_t>> otherwise = even_.as_its_peers(entry);
    if (!otherwise) return std::nullopt;
    const std::vector<size_t> peers = peers_of(entry);
    Verdict verdict = verdict_of({entry}, peers, difference(recorded_, *otherwise));
    Straggler& s = verdict.straggler;
    s.cause = "compute";
    if (run_.pipelines.stages > 1)
      s.role = stage_words(run_.pipelines.of[entry].stage, run_.pipelines.stages);
    // A single peer only shows which of the two is slower.
    s.confidence = verdict.share_of_steps * (peers.size() > 1 ? 1.0 : 0.8);
    verdict.named = is_dear(s, peers.size() + 1) && verdict.share_of_steps >= limit::kLasting;
    verdict.decided_by.push_back(
        fmt::format("It computes {:.1f} ms per step, the others of its stage {:.1f} ms; "
                    "replayed with their durations a step takes {:.1f} ms instead of {:.1f} ms.",
                    mean(computation({entry})) / 1e6, mean(computation(peers)) / 1e6,
                    mean_of(*otherwise) / 1e6, mean_of(recorded_) / 1e6));
    verdict.refuted_by.push_back(
        "The same difference with this rank on another machine: then it is its share of the data.");
    return verdict;
  }

  [[nodiscard]] bool is_dear(const Straggler& s, size_t compared = 3) const {
    return static_cast<double>(s.cost_ns) >= least_named(compared) * mean_of(recorded_);
  }

  [[nodiscard]] int rank_of(size_t entry) const { return digests_[steps_.ranks[entry]].rank; }

  // How members and others differ; `gain` is the gain of each step.
  Verdict verdict_of(const std::vector<size_t>& members, const std::vector<size_t>& others,
                     const std::vector<int64_t>& gain) const {
    const PerStep own = computation(members);
    const PerStep theirs = computation(others);
    Verdict verdict;
    size_t more = 0;
    for (size_t s = 0; s < count(); ++s) more += own[s] > (1 + limit::kLonger) * theirs[s] ? 1 : 0;
    verdict.share_of_steps =
        static_cast<double>(more) / static_cast<double>(std::max<size_t>(1, count()));
    Straggler& straggler = verdict.straggler;
    straggler.rank = rank_of(*std::ranges::max_element(
        members, {}, [&](size_t entry) { return mean(computation({entry})); }));
    straggler.shape = "persistent";
    straggler.own_delay_ns = std::llround(mean(own) - mean(theirs));
    straggler.cost_ns = std::llround(mean_of(gain));
    straggler.bound_ns = std::llround(bootstrap_mean({gain.begin(), gain.end()}).half_width);
    straggler.n = static_cast<int64_t>(gain.size());
    verdict.step_ns = std::llround(mean_of(recorded_)) - straggler.cost_ns;
    size_t kind = 0;
    double excess = -1;
    for (size_t k = 0; k < run_.kinds.size(); ++k) {
      if (!run_.kinds[k].computes) continue;
      const double delta = mean(computation(members, k)) - mean(computation(others, k));
      if (delta <= excess) continue;
      excess = delta;
      kind = k;
    }
    verdict.kind = run_.kinds[kind].name;
    verdict.kind_ns = std::llround(mean(computation(members, kind)));
    verdict.peers_kind_ns = std::llround(mean(computation(others, kind)));
    for (const size_t entry : members) {
      straggler.evidence.push_back(evidence_of(entry, run_.kinds[kind].marker));
      if (straggler.evidence.size() == 3) break;
    }
    return verdict;
  }

  // The rank's computation in the middle step.
  [[nodiscard]] Evidence evidence_of(size_t entry, schema::Marker marker) const {
    const RankDigest& digest = digests_[steps_.ranks[entry]];
    const Interval window = steps_.steps[run_.steps[count() / 2].step].windows[entry];
    Evidence evidence{.rank = digest.rank,
                      .table = "host_range",
                      .rows = {},
                      .start_ns = window.begin.ns,
                      .end_ns = window.end.ns};
    for (const PhaseRange& phase : digest.phases) {
      if (phase.marker != marker || phase.span.begin < window.begin ||
          phase.span.begin >= window.end || evidence.rows.size() >= kEvidenceRows)
        continue;
      if (evidence.rows.empty()) evidence.start_ns = phase.span.begin.ns;
      evidence.rows.push_back(phase.row);
      evidence.end_ns = phase.span.end.ns;
    }
    return evidence;
  }

  const OperationRun& run_;
  std::span<const RankDigest> digests_;
  const Steps& steps_;
  EvenRun even_;
  std::vector<int64_t> recorded_;
  std::map<uint32_t, std::vector<std::vector<int64_t>>> computed_;  // [entry][step][kind]
};

}  // namespace

std::vector<Verdict> operation_verdicts(const OperationRun& run,
                                        std::span<const RankDigest> digests, const Steps& steps) {
  if (run.tasks.empty() || run.steps.empty()) return {};
  return OperationJudge(run, digests, steps).verdicts();
}

}  // namespace dprof::analyzer
