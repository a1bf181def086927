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

// Keeps the digests and the matching by reference.
class CallGatherer {
 public:
  // O(records).
  CallGatherer(std::span<const RankDigest> digests, const Matching& matching);

  struct Count {
    size_t calls = 0;
    size_t most_of_a_rank = 0;
  };
  [[nodiscard]] const Count& count(size_t group) const { return counts_[group]; }

  // Of `groups` neighbouring communicators, in their order. Calls with Numbering::kByOrder have no
  // number yet. O(records of ranks that know one of them); 24 bytes per call.
  [[nodiscard]] std::vector<GroupCalls> gather(size_t first, size_t groups) const;

 private:
  struct Evidence {
    bool all_have_function_number = true;
    bool all_have_group_number = true;
    schema::Backend backend = schema::Backend::kUnknown;
  };
  using Numbers = std::vector<int64_t>;  // group numbers of one rank's messages, sorted

  void examine(size_t d);
  [[nodiscard]] std::vector<GroupCalls> calls_of(size_t first, size_t groups) const;
  [[nodiscard]] Numbering numbering_of(size_t g, const GroupCalls& group) const;
  [[nodiscard]] bool is_contiguous(const RankCalls& rank) const;
  void number(size_t g, GroupCalls& group) const;

  std::span<const RankDigest> digests_;
  const Matching& matching_;
  std::vector<Count> counts_;                                      // by group
  std::vector<Evidence> evidence_;                                 // by group
  std::vector<std::vector<std::pair<size_t, Numbers>>> messages_;  // by group, then digest
};

}  // namespace dprof::analyzer
