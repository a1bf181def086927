// SPDX-License-Identifier: Apache-2.0
// The calls of the ranks as tasks of a graph: when a rank comes to one, and when it is over.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/replay/task_graph.h"
#include "analyzer/steps/result.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

struct ReplayedCall {
  size_t record = 0;  // position in the rank's collectives
  TraceNs at;         // where it stands on the rank's line
  TraceNs begin;      // as recorded
  TraceNs end;
  TaskId start = 0;
  TaskId body = 0;
  // The call before on the same communicator had just ended: that one, not the rank, held it back.
  bool queued = false;
  TraceNs queue_free{INT64_MIN};  // when the one before was over, if it is in the graph
  uint64_t likeness = 0;          // of what is called: equal = the same
  size_t step = 0;                // entry of the steady steps (call_order.h)
  uint32_t number = 0;            // in the step, by the order of the calls
};

// When a rank is at a call: its call on the host; on a GPU, where the host does not wait, when its
// kernel began.
[[nodiscard]] std::optional<TraceNs> line_position(const RankDigest& digest,
                                                   const CollectiveRecord& record);

// Adds a value to a hash.
[[nodiscard]] constexpr uint64_t likeness_with(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 0x9E3779B97F4A7C15ULL + (hash >> 29U);
}

// [entry]: the calls within `spans`, in order of the line, with their tasks in `graph` connected to
// each other (not to the lines). `meetings`: how many there are.
[[nodiscard]] std::vector<std::vector<ReplayedCall>> replayed_calls(
    std::span<const RankDigest> digests, const Steps& steps, const Matching& matching,
    std::span<const Interval> spans, TaskGraph& graph, int64_t& meetings);

}  // namespace dprof::analyzer
