// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/rank_spread.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "analyzer/render/mean_step.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/figures/notable_ranks.h"

namespace dprof::view {
namespace {

using analyzer::Category;
using analyzer::MeanStep;

constexpr double kLeastShown = 0.005;  // of the step, in the worst rank

using Values = std::vector<std::pair<int64_t, int>>;  // ns, rank

RankSpread spread_of(std::string title, Values values, const std::unordered_set<int>& culprits) {
  RankSpread spread{.title = std::move(title)};
  std::ranges::sort(values);
  const auto at = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)].first;
  };
  spread.best_ns = values.front().first;
  spread.p10_ns = at(0.1);
  spread.median_ns = at(0.5);
  spread.p90_ns = at(0.9);
  spread.worst_ns = values.back().first;
  const auto worst = std::ranges::lower_bound(values, std::pair(spread.worst_ns, -1));
  spread.worst_rank = worst->second;
  for (const auto& [ns, rank] : values) {
    if (culprits.contains(rank)) spread.culprits.emplace_back(rank, ns);
  }
  return spread;
}

}  // namespace

std::vector<RankSpread> rank_spreads(const Model& model) {
  std::vector<RankSpread> spreads;
  if (!model.report.breakdown) return spreads;
  std::unordered_set<int> culprits;
  for (const Culprit& culprit : culprits_of(model)) culprits.insert(culprit.rank);
  std::vector<std::pair<int, MeanStep>> steps;
  for (const analyzer::RankBreakdown& rank : model.report.breakdown->per_rank) {
    if (const auto step = analyzer::mean_step(model.report, rank))
      steps.emplace_back(rank.rank, analyzer::with_hidden_in_phases(*step));
  }
  if (steps.empty()) return spreads;
  const auto add = [&](std::string title, const auto& value_of) {
    Values values;
    for (const auto& [rank, step] : steps) values.emplace_back(std::llround(value_of(step)), rank);
    spreads.push_back(spread_of(std::move(title), std::move(values), culprits));
  };
  add(say("step"), [](const MeanStep& step) { return step.wall_ns; });
  Values delays;
  for (const RankModel& rank : model.ranks) {
    if (const auto delay = mean_own_delay(rank)) delays.emplace_back(*delay, rank.rank);
  }
  if (!delays.empty()) spreads.push_back(spread_of(say("own delay"), std::move(delays), culprits));
  const auto least = static_cast<int64_t>(kLeastShown * static_cast<double>(spreads[0].median_ns));
  for (size_t c = 0; c < analyzer::kCategories; ++c) {
    add(std::string(analyzer::title_of(static_cast<Category>(c))),
        [c](const MeanStep& step) { return step.category_ns[c]; });
    if (spreads.back().worst_ns < least) spreads.pop_back();
  }
  return spreads;
}

int64_t scale_of(const Model& model, const std::vector<RankSpread>& spreads) {
  int64_t most = model.report.detection ? model.report.detection->floor_ns : 1;
  for (const RankSpread& spread : spreads) {
    most = std::max({most, spread.worst_ns - spread.median_ns, spread.median_ns - spread.best_ns});
  }
  return most;
}

}  // namespace dprof::view
