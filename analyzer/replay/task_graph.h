// SPDX-License-Identifier: Apache-2.0
// The dependencies between the tasks of all ranks, replayed with the recorded durations or with
// others (docs/analysis/replay.md).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace dprof::analyzer {

using TaskId = uint32_t;

struct Task {
  static constexpr int64_t kNoRelease = std::numeric_limits<int64_t>::min() / 4;

  int64_t duration_ns = 0;
  // From when all before it was done until it began, as recorded: the delay of which the graph
  // knows nothing. Kept in a replay, and told of.
  int64_t lag_ns = 0;
  int64_t release_ns = kNoRelease;  // not before this moment
};

// Invariant  once settled, `order_` has every task behind all that it waits for.
// Threading  const after settle().
// Units      ns on the run's axis.
// Cost       settle() and simulate() O(tasks + edges); about 30 bytes per task and 8 per edge.
class TaskGraph {
 public:
  TaskId add(const Task& task);
  void after(TaskId task, TaskId before);

  // To be called once, when all is added. False: tasks wait for each other in a circle.
  [[nodiscard]] bool settle();

  [[nodiscard]] size_t size() const { return tasks_.size(); }
  [[nodiscard]] const Task& operator[](TaskId task) const { return tasks_[task]; }
  [[nodiscard]] Task& operator[](TaskId task) { return tasks_[task]; }
  // Once settled: what it waits for; and all tasks, each behind those.
  [[nodiscard]] std::span<const TaskId> before(TaskId task) const {
    return std::span(before_).subspan(first_[task], first_[task + 1] - first_[task]);
  }
  [[nodiscard]] const std::vector<TaskId>& order() const { return order_; }
  [[nodiscard]] std::vector<int64_t> durations() const;
  [[nodiscard]] std::vector<int64_t> lags() const;

  // When each task ends. `lags` empty: without any.
  [[nodiscard]] std::vector<int64_t> simulate(std::span<const int64_t> durations,
                                              std::span<const int64_t> lags) const;

 private:
  struct Edge {
    TaskId task = 0;
    TaskId before = 0;
  };

  std::vector<Task> tasks_;
  std::vector<Edge> edges_;  // until settled
  std::vector<TaskId> order_;
  std::vector<uint32_t> first_;  // by task: where its predecessors begin
  std::vector<TaskId> before_;   // predecessors
};

}  // namespace dprof::analyzer
