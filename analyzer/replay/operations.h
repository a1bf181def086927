// SPDX-License-Identifier: Apache-2.0
// The task graph of a run of whole operations: computation of stages, messages between them,
// collectives of groups.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/replay/pipelines.h"
#include "analyzer/replay/step_lengths.h"
#include "analyzer/replay/task_graph.h"
#include "analyzer/steps/result.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

// Operations of a kind should take the same wherever and whenever they run.
struct OperationKind {
  std::string name;  // "forward", "all_reduce embedding", "send downstream"
  bool computes = false;
  schema::Marker marker{};  // of computation
};

// A task that stands for a row of the table.
struct OperationTask {
  TaskId task = 0;
  uint32_t entry = 0;  // of Steps::ranks
  uint32_t step = 0;   // entry of OperationRun::steps
  uint32_t kind = 0;
  int64_t row = 0;  // id in its table
};

// Each step begins by itself: what lies between the steps of a table is not in it.
struct OperationRun {
  TaskGraph graph;
  std::vector<ReplayedStep> steps;  // the steady ones
  std::vector<OperationKind> kinds;
  std::vector<OperationTask> tasks;
  Pipelines pipelines;
};

// On each rank: computation in its recorded order; the k-th message from the stage before feeds the
// k-th forward, the k-th from the stage behind the k-th backward, and is awaited from the end of
// the computation before that on; forwards and backwards give their result to the k-th message.
// Collectives come one after the other, after the computation that had ended before them, and
// before the first forward or optimizer behind them. A message or collective begins when all have
// come. nullopt: there is nothing to replay. O(rows log rows).
[[nodiscard]] std::optional<OperationRun> operations_of(std::span<const RankDigest> digests,
                                                        const Steps& steps,
                                                        const Matching& matching);

}  // namespace dprof::analyzer
