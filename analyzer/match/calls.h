// SPDX-License-Identifier: Apache-2.0
// The calls of each communicator by rank, each with the number that tells which calls of other
// ranks are the same collective (docs/analysis/matching.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/match/match.h"

namespace dprof::analyzer {

enum class Numbering : uint8_t {
  kPerFunction,  // NCCL: one counter for each function
  kPerGroup,     // c10d: one counter over all collectives (messages apart)
  kByOrder,      // none was recorded, or it counts only what was not lost: by order and likeness
};

struct NumberedCall {
  uint32_t record = 0;      // position in the digest's collectives
  uint32_t extra = 0;       // not 0: a call that the others did not make; then digest + 1
  schema::Function lane{};  // whose counter `number` is; kUnknown = the group's
  int64_t number = 0;
};

struct RankCalls {
  size_t digest = 0;
  std::vector<NumberedCall> calls;  // in order of call
  bool lossy = false;               // records of it were lost
};

struct GroupCalls {
  Numbering numbering = Numbering::kPerFunction;
  std::vector<RankCalls> ranks;  // by digest; those without calls are not there
};

// By group. Calls whose Numbering is kByOrder are not numbered yet. O(records).
[[nodiscard]] std::vector<GroupCalls> gather_calls(std::span<const RankDigest> digests,
                                                   const Matching& matching);

}  // namespace dprof::analyzer
