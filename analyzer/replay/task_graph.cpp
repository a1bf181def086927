// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/task_graph.h"

#include <algorithm>

namespace dprof::analyzer {

TaskId TaskGraph::add(const Task& task) {
  tasks_.push_back(task);
  return static_cast<TaskId>(tasks_.size() - 1);
}

void TaskGraph::after(TaskId task, TaskId before) { edges_.push_back({task, before}); }

bool TaskGraph::settle() {
  const size_t n = tasks_.size();
  // Predecessors and successors of each task, one behind the other.
  first_.assign(n + 1, 0);
  std::vector<uint32_t> first_next(n + 1, 0);
  for (const Edge& edge : edges_) {
    ++first_[edge.task + 1];
    ++first_next[edge.before + 1];
  }
  for (size_t i = 0; i < n; ++i) {
    first_[i + 1] += first_[i];
    first_next[i + 1] += first_next[i];
  }
  before_.resize(edges_.size());
  std::vector<TaskId> next(edges_.size());
  std::vector<uint32_t> filled(first_.begin(), first_.end());
  std::vector<uint32_t> filled_next(first_next.begin(), first_next.end());
  for (const Edge& edge : edges_) {
    before_[filled[edge.task]++] = edge.before;
    next[filled_next[edge.before]++] = edge.task;
  }
  edges_ = {};

  std::vector<uint32_t> missing(n);
  order_.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    missing[i] = first_[i + 1] - first_[i];
    if (missing[i] == 0) order_.push_back(static_cast<TaskId>(i));
  }
  for (size_t at = 0; at < order_.size(); ++at) {
    const TaskId done = order_[at];
    for (uint32_t e = first_next[done]; e < first_next[done + 1]; ++e) {
      if (--missing[next[e]] == 0) order_.push_back(next[e]);
    }
  }
  return order_.size() == n;
}

std::vector<int64_t> TaskGraph::durations() const {
  std::vector<int64_t> all(tasks_.size());
  std::ranges::transform(tasks_, all.begin(), &Task::duration_ns);
  return all;
}

std::vector<int64_t> TaskGraph::lags() const {
  std::vector<int64_t> all(tasks_.size());
  std::ranges::transform(tasks_, all.begin(), &Task::lag_ns);
  return all;
}

std::vector<int64_t> TaskGraph::simulate(std::span<const int64_t> durations,
                                         std::span<const int64_t> lags) const {
  std::vector<int64_t> ends(tasks_.size(), 0);
  for (const TaskId task : order_) {
    int64_t ready = tasks_[task].release_ns;
    for (uint32_t e = first_[task]; e < first_[task + 1]; ++e)
      ready = std::max(ready, ends[before_[e]]);
    ends[task] = ready + (lags.empty() ? 0 : lags[task]) + durations[task];
  }
  return ends;
}

}  // namespace dprof::analyzer
