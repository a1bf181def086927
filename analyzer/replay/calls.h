// SPDX-License-Identifier: Apache-2.0
// The ranks' calls as tasks of a graph: when a rank reaches a call, when the call is over, which
// calls are alike, and where on its line a rank was ready for one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/breakdown/sums.h"
#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/replay/task_graph.h"
#include "analyzer/steps/result.h"
#include "analyzer/steps/steps.h"
#include "base/compact_optional.h"

namespace dprof::analyzer {

struct ReplayedCall {
  uint32_t record = 0;  // position in the rank's collectives
  uint32_t step = 0;    // entry of the steady steps
  TraceNs at;           // position on the rank's line
  TraceNs begin;        // as recorded
  TraceNs end;
  // On the host, which can record the end late: when the last member arrived, and the earliest
  // possible end, given the shortest transfer of this kind.
  CompactOptional<TraceNs> met;
  CompactOptional<TraceNs> over_from;
  TaskId start = 0;
  TaskId body = 0;
  TaskId meet = 0;  // where its members meet
  // The previous call on the same communicator had just ended: that call, not the rank, delayed it.
  bool queued = false;
  bool placed = false;            // its device shows when the rank was ready for it
  TraceNs queue_free{INT64_MIN};  // when the previous one was over, if it is in the graph
  uint64_t likeness = 0;          // hash of the called operation: equal = the same
  uint32_t number = 0;            // within the step, in call order
};

// When a rank reaches a call: its call on the host; on a GPU, for which the host does not wait, the
// begin of its kernel.
[[nodiscard]] std::optional<TraceNs> line_position(const RankDigest& digest,
                                                   const CollectiveRecord& record);

// Combines a value into a hash.
[[nodiscard]] constexpr uint64_t likeness_with(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 0x9E3779B97F4A7C15ULL + (hash >> 29U);
}

// Fills device_ready from the launches: the device begins work launched after a call once it has
// finished all work before that call. nullopt if only work that waits for the call follows it.
// O(calls log launches).
void find_device_readiness(RankDigest& digest);

// [entry]: the calls within `spans`, in order of the line, with their tasks in `graph` connected to
// each other (not to the lines). `meetings`: their number.
[[nodiscard]] std::vector<std::vector<ReplayedCall>> replayed_calls(
    std::span<const RankDigest> digests, const Steps& steps, const Matching& matching,
    std::span<const Interval> spans, TaskGraph& graph, int64_t& meetings);

// [entry][step]: a hash of the rank's calls in that step, in order.
using Programs = std::vector<std::vector<uint64_t>>;

// Numbers the calls of each step in call order, which is the same on ranks that do the same.
// `borders`: [entry][step], where steps begin on the line, and the end.
[[nodiscard]] Programs number_calls(std::vector<std::vector<ReplayedCall>>& calls,
                                    const std::vector<std::vector<TraceNs>>& borders);

// A kernel that waited for the previous one on its stream is recorded where it began; the rank was
// ready for it earlier, but its own records do not show when. It is moved to where ranks that were
// not delayed reached the same call: the last rank of a meeting never is. Calls that every rank
// reached delayed stay. Leaves each rank's calls in order of the line. O(calls log calls).
void place_queued_calls(std::vector<std::vector<ReplayedCall>>& calls, const Programs& programs,
                        std::span<const OwnClock> clocks);

}  // namespace dprof::analyzer
