// SPDX-License-Identifier: Apache-2.0
// The most that a change of lengths can gain, without a replay.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/breakdown/result.h"
#include "analyzer/replay/change.h"
#include "analyzer/replay/played_run.h"

namespace dprof::analyzer {

// Changes alter the lengths of tasks, never their dependencies. So the tasks of the path that was
// longest when recorded still follow one another, and the steps end no earlier than these tasks
// allow, with their new lengths: the gain is at most what the change takes off them.
//
// Threading  immutable.
// Cost       made in O(length of the path); about one entry per kind of work and transfer.
class LongestPath {
 public:
  // `ends`: of the tasks, unchanged. nullopt: the lengths of steps do not follow from the ends of
  // tasks alone.
  [[nodiscard]] static std::optional<LongestPath> of(const PlayedRun& run,
                                                     std::span<const int64_t> ends);

  // An upper bound of the mean gain per step, in ns; nullopt = only a replay shows it.
  [[nodiscard]] std::optional<double> most_gained(
      const PlayedRun& run, const Change& change,
      const std::optional<Contention>& contention) const;

 private:
  struct Transfers {
    double ns = 0;
    double n = 0;
  };

  void trace(const PlayedRun& run, std::span<const int64_t> ends, TaskId last);

  std::vector<double> work_ns_;   // by kind
  std::vector<double> entry_ns_;  // work by entry
  std::vector<Transfers> moves_;  // by kind
  double tasks_ = 0;
  double steps_ = 0;
};

}  // namespace dprof::analyzer
