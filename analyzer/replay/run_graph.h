// SPDX-License-Identifier: Apache-2.0
// The task graph of a recorded run: each rank's own work, where it is held up, and what it does
// with others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/breakdown/sums.h"
#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/replay/step_lengths.h"
#include "analyzer/replay/task_graph.h"
#include "analyzer/steps/result.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

// A rank's own work from one call to the next, before or after it was first held up there.
struct OwnSegment {
  uint32_t entry = 0;  // of Steps::ranks
  uint32_t place = 0;
  bool stopped = false;  // after it was held up
  uint32_t first = 0;    // of RunGraph::own_tasks
  uint32_t count = 0;
  int64_t own_ns = 0;
};

// From one call of a step to the next, on all ranks that make the same calls in that step.
struct Place {
  uint32_t first = 0;  // of RunGraph::segments; ranks that did nothing of their own have none
  uint32_t count = 0;
  uint32_t alike = 0;  // of RunGraph::alike
  uint32_t step = 0;   // entry of RunGraph::steps
  uint32_t spot = 0;   // the same in all steps: behind that many calls of the same ones
};

// A piece of a rank's own work, and the step that it belongs to.
struct OwnTask {
  TaskId task = 0;
  uint32_t step = 0;  // entry of RunGraph::steps
  Interval span;
};

// A rank's part of a collective or message.
struct CallTask {
  TaskId start = 0;
  TaskId body = 0;  // its transfer
  TaskId meet = 0;  // the same for all members
  uint32_t entry = 0;
  uint32_t step = 0;
  uint32_t record = 0;  // position in the rank's collectives
};

// Where a rank was held up.
struct GateTask {
  TaskId task = 0;
  uint32_t entry = 0;
  uint32_t step = 0;
};

struct RunGraph {
  TaskGraph graph;
  std::vector<ReplayedStep> steps;   // the steady ones
  std::vector<OwnTask> own_tasks;    // by rank, in order of time
  std::vector<size_t> own_tasks_of;  // by entry of Steps::ranks: where they begin; and the end
  std::vector<OwnSegment> segments;  // by place, then entry, then stopped
  std::vector<Place> places;
  std::vector<std::vector<uint32_t>> alike;  // entries that make the same calls in a step
  std::vector<CallTask> calls;               // by rank, in order of the line
  std::vector<GateTask> gates;               // likewise
  uint32_t spots = 0;
  int64_t meetings = 0;  // collectives and messages of at least two of the ranks
};

// Each rank has a line: work, and stops. A stop ends when the calls do that had ended by then in
// the recording. A call begins when the line comes to it and the call before on its communicator is
// over; a collective's transfer when the last member has begun (for broadcasts the root, and so
// on). What cannot be put down to any of these is a lag. nullopt: the records contradict each
// other. O((calls + stops) log calls).
[[nodiscard]] std::optional<RunGraph> run_graph_of(std::span<const RankDigest> digests,
                                                   const Steps& steps, const Matching& matching,
                                                   std::span<const OwnClock> clocks);

}  // namespace dprof::analyzer
