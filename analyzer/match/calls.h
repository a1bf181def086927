// SPDX-License-Identifier: Apache-2.0
// The calls of each communicator by rank, each with the number that identifies the same collective
// on other ranks (docs/analysis/matching.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/match/match.h"

namespace dprof::analyzer {

enum class Numbering : uint8_t {
  kPerFunction,  // NCCL: one counter for each function
  kPerGroup,     // c10d: one counter over all collectives (messages apart)
  kByOrder,      // no number recorded, or it skips lost records: by order and similarity
};

struct NumberedCall {
  uint32_t record = 0;      // position in the digest's collectives
  uint32_t extra = 0;       // not 0: a call that only this rank made; then digest + 1
  schema::Function lane{};  // to whose counter `number` belongs; kUnknown = the group's
  int64_t number = 0;
};

struct RankCalls {
  size_t digest = 0;
  std::vector<NumberedCall> calls;  // in order of call
  bool lossy = false;               // records were lost
};

struct GroupCalls {
  Numbering numbering = Numbering::kPerFunction;
  std::vector<RankCalls> ranks;  // by digest; ranks without calls are omitted
};

// By group. Calls with Numbering::kByOrder have no number yet. O(records).
[[nodiscard]] std::vector<GroupCalls> gather_calls(std::span<const RankDigest> digests,
                                                   const Matching& matching);

}  // namespace dprof::analyzer
