// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/stragglers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "analyzer/stragglers/cause.h"
#include "analyzer/stragglers/evidence.h"
#include "analyzer/stragglers/mechanisms.h"
#include "analyzer/stragglers/network.h"
#include "analyzer/stragglers/price.h"
#include "analyzer/vocabulary/thresholds.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

// Suspects that share a host, a stage or a group, and their verdict.
struct RankGroup {
  std::vector<Suspect> suspects;  // the largest excess first
  Cause cause;                    // of the first
  std::string host;
  std::string role;
  std::string together;  // name of the group that works together
};

class Judge {
 public:
  Judge(const Comparison& c, ComparedWork compared, std::vector<Diagnostic>& notes)
      : c_(c),
        notes_(notes),
        work_(std::move(compared.work)),
        roles_(std::move(compared.roles)),
        excess_(excess_of(work_, roles_)),
        machines_(machines_of(c.digests, c.traces, c.steps, c.pieces)),
        prices_(c, work_, roles_) {}

  Judgement run() {
    Judgement result;
    if (work_.steps.size() < kLeastSteps) {
      note(
          "not_computed",
          fmt::format(
              "stragglers: {} steady steps; at least {} are needed to distinguish a lasting delay from chance",
              work_.steps.size(), kLeastSteps));
      return result;
    }
    if (roles_.sets.empty()) {
      note("not_computed", "stragglers: no two ranks do the same job");
      return result;
    }
    if (!any_meet()) {
      note("not_computed",
           "stragglers: no collective or message connects the ranks, so none can hold up another");
      return result;
    }
    result.compared = true;
    result.steps = work_.steps;
    result.excess_ns = excess_.total;
    const Scale scale = scale_of(work_, roles_, excess_, median_step());
    result.detection = Detection{
        .floor_ns = std::llround(scale.floor_ns),
        .power = 0.95,
        .named_ns = std::llround(least_named(ranks()) * static_cast<double>(median_step())),
        .steps = static_cast<int64_t>(work_.steps.size()),
        .ranks = static_cast<int64_t>(ranks())};
    const std::vector<Suspect> suspects = suspects_of(work_, roles_, excess_, median_step());
    for (const Suspect& suspect : suspects) {
      if (suspect.rank) result.excess_ns[*suspect.rank] = suspect.excess_ns;
    }
    result.verdicts = verdicts_of(suspects);
    for (Verdict& link : network_verdicts(c_)) result.verdicts.push_back(std::move(link));
    name_together(result.verdicts, ranks(), median_step());
    std::erase_if(result.verdicts,
                  [&](const Verdict& v) { return share(v.straggler.cost_ns) < limit::kInfoShare; });
    std::ranges::stable_sort(result.verdicts, std::greater{},
                             [](const Verdict& v) { return v.straggler.cost_ns; });
    say_limits(result);
    return result;
  }

 private:
  [[nodiscard]] size_t ranks() const { return work_.own_ns.size(); }
  [[nodiscard]] int64_t median_step() const { return c_.steps.info.median_ns; }
  [[nodiscard]] double share(int64_t ns) const {
    return static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(1, median_step()));
  }
  void note(std::string_view code, std::string text) {
    notes_.push_back(make_diagnostic(code, std::move(text)));
  }
  [[nodiscard]] int rank_of(size_t entry) const { return c_.digests[c_.steps.ranks[entry]].rank; }
  [[nodiscard]] const std::string& host_name(size_t entry) const {
    static const std::string kUnknown;
    const size_t digest = c_.steps.ranks[entry];
    return digest < c_.traces.size() ? c_.traces[digest].host : kUnknown;
  }

  std::vector<Verdict> verdicts_of(const std::vector<Suspect>& suspects) {
    std::vector<RankGroup> groups = grouped(suspects);
    std::erase_if(groups, [&](const RankGroup& group) { return is_expected(group); });
    std::vector<std::vector<Suspect>> members;
    for (const RankGroup& group : groups) members.push_back(group.suspects);
    std::vector<Price> prices = prices_.of(members);
    confirm(groups, prices);
    std::vector<Verdict> verdicts;
    for (size_t g = 0; g < groups.size(); ++g) verdicts.push_back(verdict_of(groups[g], prices[g]));
    return verdicts;
  }

  // Several groups share their cost: a single removal then does not show its part.
  void confirm(const std::vector<RankGroup>& groups, std::vector<Price>& prices) const {
    if (c_.model == nullptr) return;
    const auto costs = [&](const Price& price) { return share(price.cost_ns) >= limit::kNamed; };
    if (std::ranges::count_if(prices, costs) != 1) return;
    const auto price = std::ranges::find_if(prices, costs);
    const RankGroup& group = groups[static_cast<size_t>(price - prices.begin())];
    const Suspect& first = group.suspects.front();
    if (group.suspects.size() != 1 || !first.rank || first.shape != Shape::kPersistent) return;
    *price = confirmed(*price, rank_of(*first.rank), *c_.model);
  }

  [[nodiscard]] Cause cause(const Suspect& suspect) const {
    const bool marked = std::ranges::any_of(
        c_.digests[c_.steps.ranks.front()].phases,
        [](const PhaseRange& p) { return p.marker == schema::Marker::kForward && p.row != 0; });
    return cause_of(
        {.work = work_,
         .roles = roles_,
         .machines = machines_,
         .phases_marked = marked,
         .rank0 = suspect.rank && rank_of(*suspect.rank) == 0,
         .collections_recorded = std::ranges::all_of(
             c_.steps.ranks, [&](size_t d) { return c_.digests[d].facts.collections_recorded; })},
        suspect);
  }

  // Whether enough of the possible ranks are suspects: a node, or a stage, is slow as a whole.
  [[nodiscard]] static bool is_shared(size_t suspects, size_t members, size_t all) {
    return suspects >= 2 && members < all &&
           static_cast<double>(suspects) >= limit::kOfHost * static_cast<double>(members);
  }

  std::vector<RankGroup> grouped(const std::vector<Suspect>& suspects) {
    std::map<std::pair<std::string, std::string>, std::vector<size_t>> by_host;  // and cause
    std::map<std::pair<std::string, std::string>, std::vector<size_t>> by_stage;
    std::map<std::string, size_t> on_host;
    std::map<std::string, size_t> in_stage;
    for (size_t r = 0; r < ranks(); ++r) {
      ++on_host[machines_[r].host];
      ++in_stage[roles_.of[r].name];
    }
    std::vector<Cause> causes;
    for (size_t i = 0; i < suspects.size(); ++i) {
      causes.push_back(cause(suspects[i]));
      if (!suspects[i].rank || suspects[i].shape != Shape::kPersistent) continue;
      by_host[{machines_[*suspects[i].rank].host, causes[i].word}].push_back(i);
      if (roles_.of[*suspects[i].rank].is_stage && causes[i].word == "stage_imbalance")
        by_stage[{roles_.of[*suspects[i].rank].name, causes[i].word}].push_back(i);
    }
    std::vector<bool> taken(suspects.size(), false);
    std::vector<RankGroup> groups;
    const auto take = [&](const std::vector<size_t>& which) -> RankGroup& {
      RankGroup group;
      size_t first = which.front();
      for (const size_t i : which) {
        taken[i] = true;
        if (total(suspects[i]) > total(suspects[first])) first = i;
      }
      group.cause = causes[first];
      group.suspects.push_back(suspects[first]);
      for (const size_t i : which) {
        if (i != first) group.suspects.push_back(suspects[i]);
      }
      return groups.emplace_back(std::move(group));
    };
    const auto are_free = [&](const std::vector<size_t>& which) {
      return std::ranges::none_of(which, [&](size_t i) { return taken[i]; });
    };
    for (const auto& [key, which] : by_stage) {
      if (is_shared(which.size(), in_stage[key.first], ranks())) take(which).role = key.first;
    }
    for (const auto& [key, which] : by_host) {
      if (are_free(which) && is_shared(which.size(), on_host[key.first], ranks()))
        take(which).host = host_name(*suspects[which.front()].rank);
    }
    for (const auto& [name, which] : working_together(suspects, causes)) {
      if (are_free(which)) take(which).together = name;
    }
    for (size_t i = 0; i < suspects.size(); ++i) {
      if (!taken[i]) take({i}).role = suspects[i].rank ? roles_.of[*suspects[i].rank].name : "";
    }
    return groups;
  }

  // Ranks that pass each other their results, by name: pipelines, and communicators of the steps.
  [[nodiscard]] std::vector<std::pair<std::string, std::vector<size_t>>> working_groups() const {
    std::vector<std::pair<std::string, std::vector<size_t>>> all;
    for (size_t p = 0; p < roles_.pipelines.size(); ++p)
      all.emplace_back(fmt::format("pipeline {} of {}", p + 1, roles_.pipelines.size()),
                       roles_.pipelines[p]);
    std::vector<bool> in_steps(c_.matching.groups.size(), false);
    for (const Instance& instance : c_.matching.instances)
      in_steps[instance.group] = in_steps[instance.group] || instance.step.has_value();
    std::map<size_t, size_t> entry_of;  // by digest
    for (size_t r = 0; r < ranks(); ++r) entry_of[c_.steps.ranks[r]] = r;
    for (size_t g = 0; g < c_.matching.groups.size(); ++g) {
      if (!in_steps[g]) continue;
      std::vector<size_t> members;
      for (const size_t digest : c_.matching.groups[g].digests) {
        if (const auto entry = entry_of.find(digest); entry != entry_of.end())
          members.push_back(entry->second);
      }
      all.emplace_back(c_.matching.groups[g].name, std::move(members));
    }
    return all;
  }

  // Suspects that share a cause and most of a group: ranks that wait for each other all the time
  // hide each other's delays, so that none of them has a price alone. The largest set first.
  [[nodiscard]] std::vector<std::pair<std::string, std::vector<size_t>>> working_together(
      const std::vector<Suspect>& suspects, const std::vector<Cause>& causes) const {
    std::map<size_t, size_t> lasting;  // by rank
    for (size_t i = 0; i < suspects.size(); ++i) {
      if (suspects[i].rank && suspects[i].shape == Shape::kPersistent)
        lasting[*suspects[i].rank] = i;
    }
    std::vector<std::pair<std::string, std::vector<size_t>>> shared;
    if (lasting.size() < 2) return shared;
    for (const auto& [name, members] : working_groups()) {
      std::map<std::string, std::vector<size_t>> by_cause;
      for (const size_t rank : members) {
        if (const auto one = lasting.find(rank); one != lasting.end())
          by_cause[causes[one->second].word].push_back(one->second);
      }
      for (auto& [word, which] : by_cause) {
        if (is_shared(which.size(), members.size(), ranks()))
          shared.emplace_back(name, std::move(which));
      }
    }
    std::ranges::stable_sort(shared, std::greater{},
                             [](const auto& set) { return set.second.size(); });
    return shared;
  }

  static int64_t total(const Suspect& suspect) {
    return std::accumulate(suspect.excess_ns.begin(), suspect.excess_ns.end(), int64_t{0});
  }

  // Stages of a pipeline are never quite alike, in forward or in backward: that is not a culprit.
  // If some of their work belongs to no phase, phases were not all found, and what counts as
  // forward on one stage can be backward on another, which calls in another order: then only
  // computation as a whole can be compared.
  [[nodiscard]] bool is_expected(const RankGroup& group) const {
    const Suspect& first = group.suspects.front();
    if (!first.rank || !roles_.of[*first.rank].is_stage || !roles_.alone(*first.rank)) return false;
    const Cause& cause = group.cause;
    if (!cause.computes) return false;
    const bool found = phases_found_around(*first.rank);
    const double longer = found ? cause.relative : cause.of_all_computation;
    // If all its work merely takes longer, by one factor, its device may be slower or its load
    // larger, and no rank does the same: as between two ranks, a little is no evidence.
    const bool as_a_whole = cause.only_longer && (cause.uniform || !found) && is_one(first);
    return longer < (as_a_whole ? limit::kUniformOfTwo : limit::kUnlikeStages);
  }

  // The only rank of its role.
  [[nodiscard]] bool is_one(const Suspect& suspect) const {
    return std::ranges::count(roles_.of, roles_.of[*suspect.rank].name, &Role::name) == 1;
  }

  [[nodiscard]] bool phases_found_around(size_t rank) const {
    return std::ranges::all_of(roles_.sets[*roles_.set_of[rank]], [&](size_t r) {
      double other = 0;
      double own = 0;
      for (size_t s = 0; s < work_.steps.size(); ++s) {
        other += static_cast<double>(work_.kind_ns[r][s][index_of(OwnKind::kOtherCompute)]);
        own += static_cast<double>(work_.own_ns[r][s]);
      }
      return other <= limit::kCounts * own;
    });
  }

  [[nodiscard]] int64_t per_step(int64_t sum) const {
    return sum / static_cast<int64_t>(std::max<size_t>(1, work_.steps.size()));
  }

  Verdict verdict_of(const RankGroup& group, const Price& price) {
    const Suspect& first = group.suspects.front();
    Verdict verdict;
    Straggler& s = verdict.straggler;
    if (first.rank) s.rank = rank_of(*first.rank);
    s.shape = word_of(first.shape);
    s.cause = group.cause.word;
    s.own_delay_ns = per_step(total(first));
    s.cost_ns = price.cost_ns;
    s.bound_ns = price.bound_ns;
    s.n = static_cast<int64_t>(work_.steps.size());
    s.role = group.role;
    s.host = group.host;
    s.group = group.together;
    if (!group.host.empty() || group.suspects.size() > 1) {
      for (const Suspect& suspect : group.suspects) s.host_ranks.push_back(rank_of(*suspect.rank));
      std::ranges::sort(s.host_ranks);
    }
    if (first.onset) s.onset_step = c_.steps.steps[work_.steps[*first.onset]].index;
    s.confidence = confidence_of(first, s);
    s.evidence = evidence_of({c_.digests, c_.steps, c_.matching, work_}, first, group.cause.phase);
    verdict.share_of_steps = first.share;
    verdict.step_ns = std::max<int64_t>(0, mean_step() - s.cost_ns);
    verdict.kind = group.cause.kind;
    verdict.kind_ns = group.cause.own_ns;
    verdict.peers_kind_ns = group.cause.peers_ns;
    verdict.named = is_culprit(group, s);
    explain(group, verdict);
    if (price.first_alone_ns && !group.together.empty()) {
      verdict.decided_by.push_back(fmt::format(
          "they work together ({}): without the delay of rank {} alone, a step would take {} less",
          group.together, *s.rank, format_ms({*price.first_alone_ns})));
    }
    if (price.unconfirmed_ns) {
      verdict.decided_by.push_back(fmt::format(
          "without its excess a step would gain {}; with its peers' own work instead, only {}: the smaller is the cost",
          format_ms({*price.unconfirmed_ns}), format_ms({s.cost_ns})));
    }
    return verdict;
  }

  [[nodiscard]] bool any_meet() const {
    return !c_.matching.messages.empty() ||
           std::ranges::any_of(c_.matching.instances,
                               [](const Instance& i) { return i.members.size() > 1; });
  }

  [[nodiscard]] int64_t mean_step() const {
    int64_t sum = 0;
    for (const AlignedStep& step : c_.steps.steady()) sum += step.longest_ns;
    return per_step(sum);
  }

  // Two ranks that share cores differ by chance for longer than a short run. Against only one other
  // rank, computation that is slightly slower as a whole, or by no more than its fluctuation, is
  // not evidence; if computation hardly fluctuates, the ranks do not share cores. Nor is it chance
  // if what makes it slower was recorded.
  [[nodiscard]] bool is_clear_between_two(const RankGroup& group) const {
    const Cause& cause = group.cause;
    if (cause.observed) return true;
    if (cause.computes) {
      const double fluctuation = fluctuation_of(work_, group.suspects.front().turns);
      const bool still = fluctuation <= limit::kStill;
      const double least = still ? limit::kRelativeOfStill : limit::kRelativeOfTwo;
      if (cause.relative < std::max(least, limit::kFluctuationsOfTwo * fluctuation)) return false;
      const bool loud = fluctuation > limit::kQuiet || cause.relative < limit::kUniformOfTwo;
      if (cause.uniform && !still && loud) return false;
    }
    return group.suspects.front().shape != Shape::kPersistent || cause.steady;
  }

  // Within the replay's own error the cost cannot be distinguished from zero.
  [[nodiscard]] bool is_within_bound(const Straggler& s) const {
    return c_.replayer != nullptr &&
           bound_with_replay(c_.replayer->quality(), median_step(), s) >= s.cost_ns;
  }

  [[nodiscard]] bool is_culprit(const RankGroup& group, const Straggler& s) const {
    const std::optional<size_t> rank = group.suspects.front().rank;
    const size_t compared = rank ? roles_.sets[*roles_.set_of[*rank]].size() : ranks();
    if (compared == 2 && (!is_clear_between_two(group) || is_within_bound(s))) return false;
    return share(s.cost_ns) >= least_named(compared);
  }

  // How precisely the delay is known where it shows: 1 = exactly. The bound of an occasional one's
  // cost says more about how many of them another run would have, and nothing against this one.
  [[nodiscard]] double sharpness_of(const Suspect& suspect, const Straggler& s) const {
    auto size = static_cast<double>(s.cost_ns);
    auto error = static_cast<double>(s.bound_ns);
    if (suspect.shape != Shape::kPersistent) {
      std::vector<double> sizes;
      for (const size_t step : suspect.when)
        sizes.push_back(static_cast<double>(suspect.excess_ns[step]));
      const Estimate mean = bootstrap_mean(sizes);
      size = mean.value;
      error = mean.half_width;
    }
    return s.cost_ns <= 0 || size <= 0 ? 0 : 1 - std::min(1.0, error / size);
  }

  // Certain if it shows in every step in which it is claimed, is known precisely, and there is a
  // majority for comparison.
  [[nodiscard]] double confidence_of(const Suspect& suspect, const Straggler& s) const {
    const double sharp = sharpness_of(suspect, s);
    const size_t lasting = work_.steps.size() - suspect.onset.value_or(0);
    const double shows = suspect.shape == Shape::kPersistent
                             ? static_cast<double>(suspect.when.size()) /
                                   static_cast<double>(std::max<size_t>(1, lasting))
                             : 0.8;
    const double majority = ranks() > 2 ? 1.0 : 0.8;
    const double complete =
        1 - std::min(0.5, static_cast<double>(work_.unknown_entries) /
                              static_cast<double>(work_.steps.size() * ranks()));
    return std::clamp(std::sqrt(sharp * shows) * majority * complete * (1 - suspect.chance), 0.0,
                      1.0);
  }

  void explain(const RankGroup& group, Verdict& verdict) const {
    const Straggler& s = verdict.straggler;
    const Suspect& first = group.suspects.front();
    std::vector<std::string>& by = verdict.decided_by;
    by.push_back(fmt::format(
        "{} own work is {} per step beyond {}, in {} of {} steps",
        first.rank ? fmt::format("rank {}'s", *s.rank) : "the slowest rank's",
        format_ms({s.own_delay_ns}),
        first.beyond_rest ? "the median of those peers that are not slow in ways of their own"
                          : "its peers' median",
        first.when.size(), work_.steps.size()));
    by.insert(by.end(), group.cause.reasons.begin(), group.cause.reasons.end());
    if (first.chance > limit::kChance) {
      by.push_back(fmt::format(
          "its {} long steps are of one size, and no other rank has any; chance alone would put all of "
          "them on one rank in {} of such runs",
          first.when.size(), format_share(first.chance)));
    }
    if (first.onset)
      by.push_back(fmt::format("it was absent before step {}", s.onset_step.value_or(0)));
    by.push_back(
        fmt::format("without {}, a step would take {} ± {} less: another rank would then be last",
                    group.together.empty() ? "it" : "the delays of all of them",
                    format_ms({s.cost_ns}), format_ms({s.bound_ns})));
    verdict.refuted_by = {
        "the same job with this rank's process on another machine: "
        "if the delay stays with the rank number, it is the work; "
        "if it stays with the machine, the machine"};
    if (const Mechanism* mechanism = mechanism_of(s.cause))
      verdict.refuted_by.emplace_back(mechanism->contradicted_by);
    if (ranks() == 2)
      verdict.refuted_by.push_back(
          "a third rank: with two, one slow rank and one fast one look the same");
    if (work_.unknown_entries > 0) {
      verdict.refuted_by.push_back(fmt::format(
          "a recording without losses: {} rank-steps with incomplete records were left out",
          work_.unknown_entries));
    }
  }

  void say_limits(const Judgement& result) {
    if (ranks() == 2) {
      note("two_ranks",
           "which of two ranks is the slow one is only relative: "
           "one rank slower than usual and one faster than usual look the same");
    }
    if (std::ranges::none_of(result.verdicts, &Verdict::named)) {
      note(
          "ranks_alike",
          fmt::format(
              "no rank holds the others up; a lasting delay of one rank would be detected from {} per step. "
              "Comparing ranks cannot show a delay that all of them share: "
              "compare with another run (`dprof diff`)",
              format_ms({result.detection->floor_ns})));
    }
  }

  const Comparison& c_;
  std::vector<Diagnostic>& notes_;
  const OwnWork work_;
  const Roles roles_;
  const Excess excess_;
  const std::vector<Machine> machines_;
  const Prices prices_;
};

JudgingObserver& judging_observer() {
  static JudgingObserver observer;
  return observer;
}

}  // namespace

double least_named(size_t ranks) { return ranks == 2 ? limit::kNamedOfTwo : limit::kNamed; }

void name_together(std::vector<Verdict>& verdicts, size_t ranks, int64_t median_step_ns) {
  if (ranks == 2 || std::ranges::any_of(verdicts, &Verdict::named)) return;
  const auto share = [&](int64_t ns) {
    return static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(1, median_step_ns));
  };
  std::vector<Verdict*> several;
  int64_t cost_ns = 0;
  for (Verdict& verdict : verdicts) {
    const Straggler& s = verdict.straggler;
    if (!s.rank || s.cause == "network" || s.shape != word_of(Shape::kPersistent) ||
        share(s.cost_ns - s.bound_ns) < limit::kInfoShare)
      continue;
    several.push_back(&verdict);
    cost_ns += s.cost_ns;
  }
  if (several.size() < 2 || share(cost_ns) < least_named(ranks)) return;
  for (Verdict* verdict : several) {
    verdict->named = true;
    verdict->decided_by.push_back(fmt::format("{} such delays cost {} per step together",
                                              several.size(), format_ms({cost_ns})));
  }
}

void observe_judging(JudgingObserver observer) { judging_observer() = std::move(observer); }

Judgement judge(const Comparison& comparison, std::vector<Diagnostic>& notes) {
  if (judging_observer()) {
    // The observer can call judge() itself.
    JudgingObserver observer = std::exchange(judging_observer(), nullptr);
    observer(comparison);
    observe_judging(std::move(observer));
  }
  return Judge(comparison,
               compared_work(comparison.digests, comparison.steps, comparison.matching,
                             comparison.pieces),
               notes)
      .run();
}

std::vector<std::vector<OwnDelay>> own_delays_of(const Judgement& judgement, const Steps& steps,
                                                 size_t count) {
  std::vector<std::vector<OwnDelay>> delays(count);
  for (size_t r = 0; r < judgement.excess_ns.size(); ++r) {
    for (size_t s = 0; s < judgement.steps.size(); ++s) {
      delays[steps.ranks[r]].push_back(
          {steps.steps[judgement.steps[s]].index, judgement.excess_ns[r][s]});
    }
  }
  return delays;
}

}  // namespace dprof::analyzer
