// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/landmarks.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "analyzer/report/report.h"
#include "gui/view/figures/collective_times.h"

namespace dprof::view {

int64_t step_at(const Model& model, TraceNs time) {
  int64_t nearest = model.steps.front().index;
  for (const analyzer::StepWindow& step : model.steps) {
    if (step.window.begin <= time) nearest = step.index;
  }
  return nearest;
}

std::optional<int64_t> typical_step(const Model& model, const analyzer::Finding* finding) {
  const std::vector<analyzer::StepWindow>& steps = model.steps;
  if (steps.empty()) return std::nullopt;
  size_t first = 0;
  size_t last = steps.size() - 1;
  int64_t usual_ns = steps[steps.size() / 2].window.length().ns;
  if (const std::optional<analyzer::StepsInfo>& info = model.report.run.steps) {
    first = model.index_of_step(info->first_steady).value_or(first);
    last = model.index_of_step(info->last_steady).value_or(last);
    usual_ns = info->median_ns;
  }
  if (finding != nullptr) {
    for (const analyzer::Evidence& evidence : finding->evidence) {
      if (evidence.end_ns - evidence.start_ns <= 2 * usual_ns) {
        return step_at(model, TraceNs{evidence.start_ns});
      }
    }
    for (const analyzer::Evidence& evidence : finding->evidence) {
      const auto index = [&](int64_t ns) {
        return *model.index_of_step(step_at(model, TraceNs{ns}));
      };
      const size_t from = std::max(first, index(evidence.start_ns));
      const size_t to = std::min(last, index(evidence.end_ns));
      if (from > to) continue;
      first = from;
      last = to;
      break;
    }
  }
  constexpr size_t kNear = 10;
  const size_t middle = (first + last) / 2;
  size_t best = middle;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (size_t i = std::max(first, middle - std::min(middle, kNear));
       i <= std::min(last, middle + kNear); ++i) {
    const Interval shown{steps[i == 0 ? 0 : i - 1].window.begin,
                         steps[std::min(i + 1, steps.size() - 1)].window.end};
    const int64_t unusual = std::abs(shown.length().ns - 3 * usual_ns);
    if (unusual >= least) continue;
    least = unusual;
    best = i;
  }
  return steps[best].index;
}

std::optional<uint32_t> hung_collective(const Model& model) {
  std::optional<uint32_t> hung;
  if (!model.report.hang) return hung;
  const analyzer::Hang& hang = *model.report.hang;
  for (uint32_t c = 0; c < model.collectives.size(); ++c) {
    const analyzer::MatchedCollective& one = model.collectives[c];
    const bool same = one.communicator == hang.communicator && one.function == hang.function &&
                      (!hang.sequence || one.sequence == *hang.sequence);
    if (same && !one.complete) hung = c;
  }
  return hung;
}

bool has_failed(const Model& model) {
  const std::optional<analyzer::Ending>& ending = model.report.ending;
  return model.report.hang || (ending && ending->verdict.kind != "ok");
}

const analyzer::EndedRank* end_of_rank(const Model& model, int rank) {
  if (!model.report.ending) return nullptr;
  const std::vector<analyzer::EndedRank>& ranks = model.report.ending->ranks;
  const auto found = std::ranges::find(ranks, rank, &analyzer::EndedRank::rank);
  return found != ranks.end() ? &*found : nullptr;
}

std::optional<Interval> second_of_failure(const Model& model) {
  std::optional<TraceNs> failed;
  if (const std::optional<uint32_t> hung = hung_collective(model)) {
    for (const analyzer::CollectiveMember& member : model.collectives[*hung].members) {
      if (const std::optional<TraceNs> arrival = arrival_of(member))
        failed = std::max(failed.value_or(*arrival), *arrival);
    }
  }
  if (!failed && has_failed(model) && model.report.ending) {
    for (const analyzer::EndedRank& rank : model.report.ending->ranks) {
      if (!rank.first || !rank.time_ns) continue;
      const TraceNs end{*rank.time_ns};
      failed = std::min(failed.value_or(end), end);
    }
  }
  if (!failed) return std::nullopt;
  constexpr int64_t kBeforeNs = 800'000'000;
  constexpr int64_t kAfterNs = 200'000'000;
  return Interval{std::max(model.span.begin, TraceNs{failed->ns - kBeforeNs}),
                  std::min(model.span.end, TraceNs{failed->ns + kAfterNs})};
}

}  // namespace dprof::view
