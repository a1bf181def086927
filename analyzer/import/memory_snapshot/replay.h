// SPDX-License-Identifier: Apache-2.0
// What the allocator held before the first event that was kept: the history is a ring, and only the
// final state is sure. So it is followed backwards from there.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/import/memory_snapshot/snapshot.h"

namespace dprof::analyzer::memory_snapshot {

inline constexpr int64_t kDoesNotFit = -1;

struct Replay {
  // Held before the first event. From it, the events whose bytes are told lead to the final state,
  // to the byte.
  std::vector<Segment> segments;
  std::vector<Block> blocks;
  int64_t freed_blocks = 0;  // of these, those that an event frees
  // By event: the bytes by which it changes what is allocated or reserved (of an allocation the
  // block's, where it still lives; else what was asked for, rounded up as the allocator does).
  // kDoesNotFit: it cannot have led to the final state, and is left out.
  std::vector<int64_t> bytes;
  // The final state, and how many blocks and segments of it lie where others do: these are left
  // out.
  int64_t active_bytes = 0;
  int64_t reserved_bytes = 0;
  int64_t repeated = 0;
};

// O(events log blocks). kDamaged: sums that make no sense.
Result<Replay> replay_of(const DeviceState& device);

}  // namespace dprof::analyzer::memory_snapshot
