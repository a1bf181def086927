// SPDX-License-Identifier: Apache-2.0
// The task graph of a recorded run: each rank's own work, its stops, and its collectives and
// messages.
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

// A rank's own work from one call to the next, before or after its first stop there.
struct OwnSegment {
  uint32_t entry = 0;  // of Steps::ranks
  uint32_t place = 0;
  bool stopped = false;  // after the first stop
  uint32_t first = 0;    // of RunGraph::own_tasks
  uint32_t count = 0;
  int64_t own_ns = 0;
};

// From one call of a step to the next, on all ranks that make the same calls in that step.
struct Place {
  uint32_t first = 0;  // of RunGraph::segments; ranks without own work have none
  uint32_t count = 0;
  uint32_t alike = 0;  // of RunGraph::alike
  uint32_t step = 0;   // entry of RunGraph::steps
  uint32_t spot = 0;   // the same in all steps: the number of equal calls before it
};

// A piece of a rank's own work, and its step.
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

// A rank's stop.
struct GateTask {
  TaskId task = 0;
  uint32_t entry = 0;
  uint32_t step = 0;
};

struct RunGraph {
  TaskGraph graph;
  std::vector<ReplayedStep> steps;   // the steady ones
  std::vector<OwnTask> own_tasks;    // by rank, in order of time
  std::vector<size_t> own_tasks_of;  // by entry of Steps::ranks: begin of its tasks; and the end
  std::vector<OwnSegment> segments;  // by place, then entry, then stopped
  std::vector<Place> places;
  std::vector<std::vector<uint32_t>> alike;  // entries that make the same calls in a step
  std::vector<CallTask> calls;               // by rank, in order of the line
  std::vector<GateTask> gates;               // likewise
  uint32_t spots = 0;
  int64_t meetings = 0;  // collectives and messages of at least two of the ranks
};

// Each rank has a line of work and stops. A stop ends with the calls that had ended by then in the
// recording. A call begins when the line reaches it and the previous call on its communicator is
// over; a collective's transfer begins with its last member (for broadcasts with the root, and so
// on). Time without any of these causes is a lag. nullopt: the records contradict each other.
// O((calls + stops) log calls).
[[nodiscard]] std::optional<RunGraph> run_graph_of(std::span<const RankDigest> digests,
                                                   const Steps& steps, const Matching& matching,
                                                   std::span<const OwnClock> clocks);

}  // namespace dprof::analyzer
