// SPDX-License-Identifier: Apache-2.0
// How long the events of one name take: all together, and rank by rank.
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
  int64_t to_ns = 0;  // half-open, but for the last one
  int64_t count = 0;
  int64_t of_chosen = 0;  // of them, of the selection's ranks
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
  std::vector<RankDurations> by_rank;   // slowest median first; ranks without one left out
  std::vector<DurationBucket> buckets;  // equal widths of log(duration); empty = no event
  int64_t unfinished = 0;               // events that the recording saw no end of, left out
};

// Of all ranks' events that match the query's name and touch its range; `query.ranks` are those
// that the buckets count apart. Order statistics, so exact. O(events in the range).
[[nodiscard]] Durations durations_of(const RunEvents& run, const EventQuery& query);

}  // namespace dprof::view
