// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/notable_ranks.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <unordered_set>

#include "base/format.h"
#include "gui/view/drawing/texts.h"

namespace dprof::view {
namespace {

struct ReasonInfo {
  std::string_view word;
  std::string_view title;
};
constexpr std::array<ReasonInfo, 6> kReasons = {{{"culprit", english("culprit")},
                                                 {"victim", english("waits most")},
                                                 {"waited-for", english("waited for most")},
                                                 {"slowest", english("slowest")},
                                                 {"fastest", english("fastest")},
                                                 {"typical", english("typical")}}};

std::optional<int64_t> mean_step(const RankModel& rank) {
  if (rank.steps.empty()) return std::nullopt;
  int64_t sum = 0;
  for (const analyzer::StepWindow& step : rank.steps) sum += step.window.length().ns;
  return sum / static_cast<int64_t>(rank.steps.size());
}

class Chooser {
 public:
  explicit Chooser(const Model& model) : model_(model) {}

  std::vector<NotableRank> choose() && {
    for (const Culprit& culprit : culprits_of(model_)) {
      if (chosen_.size() == kMostCulprits) break;
      if (!model_.index_of_rank(culprit.rank)) continue;  // it left no trace
      add(model_.index_of_rank(culprit.rank), RankReason::kCulprit,
          culprit.own_delay_ns ? culprit.own_delay_ns : culprit.cost_ns);
      chosen_.back().is_cost = !culprit.own_delay_ns;
    }
    add_victim();
    add_waited_for();
    add_by_slowness();
    return std::move(chosen_);
  }

 private:
  void add(std::optional<size_t> index, RankReason reason, std::optional<int64_t> ns) {
    if (!index || !there_.insert(*index).second) return;
    chosen_.push_back({*index, model_.ranks[*index].rank, reason, ns});
  }

  // If there is a culprit: the rank that waits longest.
  void add_victim() {
    if (chosen_.empty()) return;
    std::optional<size_t> most;
    for (size_t r = 0; r < model_.ranks.size(); ++r) {
      const std::optional<DurationNs>& wait = model_.ranks[r].wait_per_step;
      if (!wait || there_.contains(r)) continue;
      if (!most || *wait > *model_.ranks[*most].wait_per_step) most = r;
    }
    if (most) add(most, RankReason::kVictim, model_.ranks[*most].wait_per_step->ns);
  }

  void add_waited_for() {
    const auto most = std::ranges::max_element(model_.ranks, {}, &RankModel::waited_for);
    if (most == model_.ranks.end() || most->waited_for.ns <= 0) return;
    add(static_cast<size_t>(most - model_.ranks.begin()), RankReason::kWaitedFor,
        most->waited_for.ns);
  }

  void add_by_slowness() {
    const std::vector<std::optional<int64_t>> slowness = slowness_of(model_);
    std::vector<size_t> order;
    for (size_t r = 0; r < slowness.size(); ++r) {
      if (slowness[r]) order.push_back(r);
    }
    if (order.empty()) return;
    std::ranges::stable_sort(order, {}, [&](size_t r) { return *slowness[r]; });
    const auto take = [&](size_t r, RankReason reason) { add(r, reason, slowness[r]); };
    take(order.back(), RankReason::kSlowest);
    take(order.front(), RankReason::kFastest);
    // The median rank among those without another reason.
    for (size_t place = (order.size() - 1) / 2; place < order.size(); ++place) {
      if (there_.contains(order[place])) continue;
      take(order[place], RankReason::kTypical);
      break;
    }
  }

  const Model& model_;
  std::vector<NotableRank> chosen_;
  std::unordered_set<size_t> there_;
};

}  // namespace

std::string_view title_of(RankReason reason) {
  return translated(kReasons[static_cast<size_t>(reason)].title);
}

std::string_view word_of(RankReason reason) { return kReasons[static_cast<size_t>(reason)].word; }

std::optional<int64_t> mean_own_delay(const RankModel& rank) {
  if (rank.own_delays.empty()) return std::nullopt;
  int64_t sum = 0;
  for (const analyzer::OwnDelay& delay : rank.own_delays) sum += delay.ns;
  return sum / static_cast<int64_t>(rank.own_delays.size());
}

std::vector<std::optional<int64_t>> slowness_of(const Model& model) {
  const bool compared =
      std::ranges::any_of(model.ranks, [](const RankModel& r) { return !r.own_delays.empty(); });
  std::vector<std::optional<int64_t>> slowness;
  for (const RankModel& rank : model.ranks)
    slowness.push_back(compared ? mean_own_delay(rank) : mean_step(rank));
  return slowness;
}

std::vector<Culprit> culprits_of(const Model& model) {
  std::vector<Culprit> culprits;
  std::unordered_set<int> there;
  const auto add = [&](int rank, std::optional<int64_t> own_delay_ns,
                       std::optional<int64_t> cost_ns) {
    if (there.insert(rank).second) culprits.push_back({rank, own_delay_ns, cost_ns});
  };
  const analyzer::Report& report = model.report;
  if (report.hang) {
    for (const int rank : report.hang->culprits) add(rank, std::nullopt, std::nullopt);
  }
  if (report.stragglers) {
    for (const analyzer::Straggler& straggler : *report.stragglers) {
      const bool works_longer = straggler.own_delay_ns > 0;  // not for a slow link
      const auto delay = [&](std::optional<int64_t> ns) {
        return works_longer ? ns : std::nullopt;
      };
      if (straggler.rank) add(*straggler.rank, delay(straggler.own_delay_ns), straggler.cost_ns);
      for (const int rank : straggler.host_ranks) {
        const RankModel* of = model.rank(rank);
        if (of != nullptr) add(rank, delay(mean_own_delay(*of)), straggler.cost_ns);
      }
    }
  }
  if (report.slow_links) {
    for (const analyzer::SlowHost& host : report.slow_links->hosts) {
      for (const int rank : host.ranks) add(rank, std::nullopt, host.excess_ns);
    }
  }
  return culprits;
}

std::optional<RotatingDelay> rotating_delay(const Model& model) {
  if (!model.report.stragglers) return std::nullopt;
  const auto rotates = [](const analyzer::Straggler& one) {
    return !one.rank && one.shape == "rotating" && one.cause != "network";
  };
  const auto found = std::ranges::find_if(*model.report.stragglers, rotates);
  if (found == model.report.stragglers->end()) return std::nullopt;
  RotatingDelay delay{found->cost_ns, std::nullopt};
  const std::vector<analyzer::Finding>& findings = model.findings();
  const auto says_so = std::ranges::find_if(findings, [&](const analyzer::Finding& one) {
    return one.ranks.empty() && one.cause == found->cause && one.cost_ns == found->cost_ns;
  });
  if (says_so != findings.end()) delay.finding = static_cast<size_t>(says_so - findings.begin());
  return delay;
}

std::vector<NotableRank> notable_ranks(const Model& model) { return Chooser(model).choose(); }

std::string figure_of(const NotableRank& rank) {
  constexpr int64_t kShownAsZero = 50 * kNsPerUs;
  if (!rank.ns) return {};
  const int64_t ns = std::abs(*rank.ns) < kShownAsZero ? 0 : *rank.ns;
  const std::string time = format_ms({ns});
  switch (rank.reason) {
    case RankReason::kVictim:
      return say("waits {}", time);
    case RankReason::kWaitedFor:
      return say("{} waited", time);
    case RankReason::kCulprit:
      if (rank.is_cost) return say("costs {}", time);
      break;
    case RankReason::kSlowest:
    case RankReason::kFastest:
    case RankReason::kTypical:
      break;
  }
  return ns > 0 ? "+" + time : time;
}

}  // namespace dprof::view
