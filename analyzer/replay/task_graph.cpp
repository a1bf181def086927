// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/task_graph.h"

#include <algorithm>

#include "base/free_memory.h"

namespace dprof::analyzer {

TaskId TaskGraph::add(const Task& task) {
  tasks_.push_back(task);
  return static_cast<TaskId>(tasks_.size() - 1);
}

void TaskGraph::after(TaskId task, TaskId before) { edges_.push_back({task, before}); }

std::optional<std::vector<TaskId>> TaskGraph::settle() {
  const size_t n = tasks_.size();
  // The successors of each task in one array, and the number of predecessors of each task.
  std::vector<uint32_t> first_next(n + 1, 0);
  std::vector<uint32_t> missing(n, 0);
  for (const Edge& edge : edges_) {
    ++missing[edge.task];
    ++first_next[edge.before + 1];
  }
  for (size_t i = 0; i < n; ++i) first_next[i + 1] += first_next[i];
  std::vector<TaskId> next(edges_.size());
  {
    std::vector<uint32_t> filled(first_next.begin(), first_next.end());
    for (const Edge& edge : edges_) next[filled[edge.before]++] = edge.task;
  }
  std::vector<uint32_t> count = missing;  // predecessors
  std::vector<TaskId> order;
  order.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    if (missing[i] == 0) order.push_back(static_cast<TaskId>(i));
  }
  for (size_t at = 0; at < order.size(); ++at) {
    const TaskId done = order[at];
    for (uint32_t e = first_next[done]; e < first_next[done + 1]; ++e) {
      if (--missing[next[e]] == 0) order.push_back(next[e]);
    }
  }
  if (order.size() != n) return std::nullopt;
  free_memory(next);
  free_memory(first_next);
  free_memory(missing);

  std::vector<TaskId> place(n);
  first_.assign(n + 1, 0);
  durations_.reserve(n);
  lags_.reserve(n);
  releases_.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    const Task& task = tasks_[order[i]];
    place[order[i]] = static_cast<TaskId>(i);
    first_[i + 1] = first_[i] + count[order[i]];
    durations_.push_back(task.duration_ns);
    lags_.push_back(task.lag_ns);
    releases_.push_back(task.release_ns);
  }
  std::deque<Task>().swap(tasks_);
  free_memory(order);
  before_.resize(edges_.size());
  std::ranges::copy(std::span(first_).first(n), count.begin());  // where its next one goes
  for (const Edge& edge : edges_) before_[count[place[edge.task]]++] = place[edge.before];
  std::deque<Edge>().swap(edges_);
  settled_ = true;
  return place;
}

std::vector<int64_t> TaskGraph::simulate(std::span<const int64_t> durations,
                                         std::span<const int64_t> lags) const {
  std::vector<int64_t> ends(size());
  for (size_t task = 0; task < ends.size(); ++task) {
    int64_t ready = releases_[task];
    for (uint32_t e = first_[task]; e < first_[task + 1]; ++e)
      ready = std::max(ready, ends[before_[e]]);
    ends[task] = ready + (lags.empty() ? 0 : lags[task]) + durations[task];
  }
  return ends;
}

}  // namespace dprof::analyzer
