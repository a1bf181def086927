// SPDX-License-Identifier: Apache-2.0
// The task graph of a run of whole operations: computation of stages, messages between them, and
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

// Operations of one kind should take equally long on all ranks and in all steps.
struct OperationKind {
  std::string name;  // "forward", "all_reduce embedding", "send downstream"
  bool computes = false;
  schema::Marker marker{};  // of computation
};

// A task for one row of the table.
struct OperationTask {
  TaskId task = 0;
  uint32_t entry = 0;  // of Steps::ranks
  uint32_t step = 0;   // entry of OperationRun::steps
  uint32_t kind = 0;
  int64_t row = 0;  // id in its table
};

// Each step begins independently: the table does not show the time between steps.
struct OperationRun {
  TaskGraph graph;
  std::vector<ReplayedStep> steps;  // the steady ones
  std::vector<OperationKind> kinds;
  std::vector<OperationTask> tasks;
  Pipelines pipelines;
};

// On each rank: computation in its recorded order. The k-th message from the previous stage feeds
// the k-th forward, the k-th from the next stage the k-th backward; it is awaited from the end of
// the preceding computation on. Forwards and backwards pass their result to the k-th message.
// Collectives run one after the other, after the computation that ended before them and before the
// first forward or optimizer after them. A message or collective begins when all members have
// arrived. nullopt: nothing to replay. O(rows log rows).
[[nodiscard]] std::optional<OperationRun> operations_of(std::span<const RankDigest> digests,
                                                        const Steps& steps,
                                                        const Matching& matching);

}  // namespace dprof::analyzer
