// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/step_lengths.h"

#include <algorithm>
#include <cmath>

namespace dprof::analyzer {

std::vector<int64_t> step_lengths(std::span<const ReplayedStep> steps,
                                  std::span<const int64_t> ends) {
  std::vector<int64_t> lengths;
  std::optional<int64_t> former;
  for (const ReplayedStep& step : steps) {
    int64_t end = Task::kNoRelease;
    for (const TaskId task : step.last) end = std::max(end, ends[task]);
    const std::optional<int64_t> begin = step.begin_ns ? step.begin_ns : former;
    lengths.push_back(begin && !step.last.empty() ? end - *begin : step.recorded_ns);
    if (!step.last.empty()) former = end;
  }
  return lengths;
}

double identity_error(std::span<const ReplayedStep> steps, std::span<const int64_t> lengths) {
  double sum = 0;
  size_t n = 0;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].recorded_ns <= 0) continue;
    const auto recorded = static_cast<double>(steps[s].recorded_ns);
    sum += std::abs(static_cast<double>(lengths[s]) - recorded) / recorded;
    ++n;
  }
  return n == 0 ? 0 : sum / static_cast<double>(n);
}

double mean_recorded(std::span<const ReplayedStep> steps) {
  double sum = 0;
  for (const ReplayedStep& step : steps) sum += static_cast<double>(step.recorded_ns);
  return steps.empty() ? 0 : sum / static_cast<double>(steps.size());
}

double mean_of(std::span<const int64_t> lengths) {
  double sum = 0;
  for (const int64_t length : lengths) sum += static_cast<double>(length);
  return lengths.empty() ? 0 : sum / static_cast<double>(lengths.size());
}

double unexplained_share(const TaskGraph& graph, std::span<const ReplayedStep> steps) {
  const std::vector<int64_t>& durations = graph.durations();
  std::vector<int64_t> lags = graph.lags();
  const double with = mean_of(step_lengths(steps, graph.simulate(durations, lags)));
  for (int64_t& lag : lags) lag = lag > kLongLag ? 0 : lag;
  const double without = mean_of(step_lengths(steps, graph.simulate(durations, lags)));
  return with <= 0 ? 0 : std::max(0.0, (with - without) / with);
}

}  // namespace dprof::analyzer
