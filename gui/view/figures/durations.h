// SPDX-License-Identifier: Apache-2.0
// The durations of the events of one name: all together, and rank by rank.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gui/view/figures/event_list.h"

namespace dprof::view {

inline constexpr size_t kDurationBuckets = 64;

struct DurationBucket {
  int64_t from_ns = 0;
  int64_t to_ns = 0;  // half-open, except for the last one
  int64_t count = 0;
  int64_t of_chosen = 0;  // those of the selection's ranks
  int64_t longest_ns = 0;
  SlicePlace longest;  // of its events
};

struct RankDurations {
  int rank = 0;
  int64_t count = 0;
  int64_t total_ns = 0;
  int64_t median_ns = 0;
  int64_t p95_ns = 0;
  int64_t longest_ns = 0;
};

struct Durations {
  RankDurations all;                    // rank -1
  std::vector<RankDurations> by_rank;   // slowest median first; without ranks that have none
  std::vector<DurationBucket> buckets;  // equal widths in log(duration); empty = no event
  int64_t unfinished = 0;               // events without a recorded end, left out
};

// For all ranks' events that match the query's name and overlap its range; the buckets count those
// of `query.ranks` separately. Exact order statistics. O(events in the range).
[[nodiscard]] Durations durations_of(const RunEvents& run, const EventQuery& query);

}  // namespace dprof::view
