// SPDX-License-Identifier: Apache-2.0
// The dependencies between the tasks of all ranks, replayed with the recorded durations or with
// others (docs/analysis/replay.md).
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace dprof::analyzer {

using TaskId = uint32_t;

struct Task {
  static constexpr int64_t kNoRelease = std::numeric_limits<int64_t>::min() / 4;

  int64_t duration_ns = 0;
  // The recorded delay from the end of all its predecessors to its begin, which the graph does not
  // explain. Kept in a replay, and reported.
  int64_t lag_ns = 0;
  int64_t release_ns = kNoRelease;  // not before this moment
};

// Invariant  once settled, every task comes after all its predecessors.
// Threading  const after settle().
// Units      ns on the run's axis.
// Cost       settle() and simulate() O(tasks + edges); 28 bytes per task and 4 per edge.
class TaskGraph {
 public:
  TaskId add(const Task& task);
  void after(TaskId task, TaskId before);

  // Call once, after adding everything. Renumbers the tasks in topological order, so that a replay
  // reads memory from front to back. Returns the new numbers by the old ones; nullopt: the
  // dependencies form a cycle.
  [[nodiscard]] std::optional<std::vector<TaskId>> settle();

  [[nodiscard]] size_t size() const { return settled_ ? durations_.size() : tasks_.size(); }
  [[nodiscard]] Task& operator[](TaskId task) { return tasks_[task]; }  // until settled

  // Once settled: its predecessors, and the earliest moment at which it can begin.
  [[nodiscard]] std::span<const TaskId> before(TaskId task) const {
    return std::span(before_).subspan(first_[task], first_[task + 1] - first_[task]);
  }
  [[nodiscard]] int64_t release(TaskId task) const { return releases_[task]; }
  [[nodiscard]] const std::vector<int64_t>& durations() const { return durations_; }
  [[nodiscard]] const std::vector<int64_t>& lags() const { return lags_; }

  // When each task ends. Empty `lags`: no lags.
  [[nodiscard]] std::vector<int64_t> simulate(std::span<const int64_t> durations,
                                              std::span<const int64_t> lags) const;

 private:
  struct Edge {
    TaskId task = 0;
    TaskId before = 0;
  };

  bool settled_ = false;
  std::deque<Task> tasks_;  // until settled; both grow without being copied
  std::deque<Edge> edges_;  // likewise
  std::vector<int64_t> durations_;
  std::vector<int64_t> lags_;
  std::vector<int64_t> releases_;
  std::vector<uint32_t> first_;  // by task: the first of its predecessors in before_
  std::vector<TaskId> before_;   // predecessors
};

}  // namespace dprof::analyzer
