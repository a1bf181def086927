// SPDX-License-Identifier: Apache-2.0
// The allocator's state before the first stored event: the history is a ring, and only the final
// state is certain. So it is replayed backwards from there.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/import/memory_snapshot/snapshot.h"

namespace dprof::analyzer::memory_snapshot {

inline constexpr int64_t kDoesNotFit = -1;

struct Replay {
  // Allocated before the first event. From here, the events with known bytes lead to exactly the
  // final state.
  std::vector<Segment> segments;
  std::vector<Block> blocks;
  int64_t freed_blocks = 0;  // of these, blocks that an event frees
  // By event: its change of allocated or reserved bytes (for an allocation the block's bytes, if it
  // still exists; else the requested bytes, rounded up as the allocator does). kDoesNotFit:
  // inconsistent with the final state, and left out.
  std::vector<int64_t> bytes;
  // The final state, and how many of its blocks and segments overlap others: these are left out.
  int64_t active_bytes = 0;
  int64_t reserved_bytes = 0;
  int64_t repeated = 0;
};

// O(events log blocks). kDamaged: implausible sums.
Result<Replay> replay_of(const DeviceState& device);

}  // namespace dprof::analyzer::memory_snapshot
