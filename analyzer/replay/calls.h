// SPDX-License-Identifier: Apache-2.0
// The calls of the ranks as tasks of a graph: when a rank comes to one, and when it is over; which
// of them are alike, and where on its line a rank was ready for one.
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
  TraceNs at;           // where it stands on the rank's line
  TraceNs begin;        // as recorded
  TraceNs end;
  // On the host, where its end may be noted late: when the last member came, and when it can have
  // been over, had the transfer been the shortest of its kind.
  CompactOptional<TraceNs> met;
  CompactOptional<TraceNs> over_from;
  TaskId start = 0;
  TaskId body = 0;
  TaskId meet = 0;  // where its members meet
  // The call before on the same communicator had just ended: that one, not the rank, held it back.
  bool queued = false;
  bool placed = false;            // its device tells when it was ready for it
  TraceNs queue_free{INT64_MIN};  // when the one before was over, if it is in the graph
  uint64_t likeness = 0;          // of what is called: equal = the same
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

// Fills device_ready, from the launches: the device begins with what was launched behind a call
// when it is done with all before it. nullopt where only what waits for the call came behind it.
// O(calls log launches).
void find_device_readiness(RankDigest& digest);

// [entry]: the calls within `spans`, in order of the line, with their tasks in `graph` connected to
// each other (not to the lines). `meetings`: how many there are.
[[nodiscard]] std::vector<std::vector<ReplayedCall>> replayed_calls(
    std::span<const RankDigest> digests, const Steps& steps, const Matching& matching,
    std::span<const Interval> spans, TaskGraph& graph, int64_t& meetings);

// [entry][step]: a hash of what the rank calls there, in order.
using Programs = std::vector<std::vector<uint64_t>>;

// Numbers the calls of each step in the order in which they were called, which is the same on ranks
// that do the same. `borders`: [entry][step], where steps begin on the line, and the end.
[[nodiscard]] Programs number_calls(std::vector<std::vector<ReplayedCall>>& calls,
                                    const std::vector<std::vector<TraceNs>>& borders);

// A kernel that waited for the one before on its stream stands where it began; the rank had been
// ready for it earlier, and nothing of its own tells when. It is moved to where ranks that were not
// held back came to the same call: the last one of a meeting never is. Calls nobody came to
// unhindered stay. Leaves each rank's calls in order of the line. O(calls log calls).
void place_queued_calls(std::vector<std::vector<ReplayedCall>>& calls, const Programs& programs,
                        std::span<const OwnClock> clocks);

}  // namespace dprof::analyzer
