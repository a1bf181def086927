// SPDX-License-Identifier: Apache-2.0
// Computes the lengths of steps from the ends of tasks.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/replay/task_graph.h"

namespace dprof::analyzer {

// A step of the replay. It is over when all of `last` are.
struct ReplayedStep {
  size_t step = 0;                  // position in Steps::steps
  std::optional<int64_t> begin_ns;  // nullopt = at the end of the previous step
  int64_t recorded_ns = 0;          // its recorded length
  std::vector<TaskId> last;
};

// One length per step. A first step without a begin is as long as recorded.
[[nodiscard]] std::vector<int64_t> step_lengths(std::span<const ReplayedStep> steps,
                                                std::span<const int64_t> ends);

// Mean over steps of |replayed - recorded| / recorded; 0 without steps.
[[nodiscard]] double identity_error(std::span<const ReplayedStep> steps,
                                    std::span<const int64_t> lengths);

[[nodiscard]] double mean_of(std::span<const int64_t> lengths);
[[nodiscard]] double mean_recorded(std::span<const ReplayedStep> steps);

// Longer lags are not launch or scheduling delays (docs/analysis/replay.md).
inline constexpr int64_t kLongLag = 1'500'000;

// The share of the replayed time that disappears without long lags.
[[nodiscard]] double unexplained_share(const TaskGraph& graph, std::span<const ReplayedStep> steps);

}  // namespace dprof::analyzer
