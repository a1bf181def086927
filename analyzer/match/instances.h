// SPDX-License-Identifier: Apache-2.0
// The collectives of one communicator, made of numbered calls.
#pragma once

#include <span>
#include <vector>

#include "analyzer/match/calls.h"

namespace dprof::analyzer {

// One communicator's collectives while they are looked at.
struct Draft {
  Instance instance;
  std::vector<uint32_t> calls;  // by member: position in its rank's calls
  std::vector<uint32_t> ranks;  // by member: position in GroupCalls::ranks
  uint32_t majority = 0;        // member that does what most do
  std::vector<uint32_t> odd;    // members in conflict with it
  bool tie = false;             // no majority
  bool out_of_order = false;    // some ranks called it before, others after another one
};

// Calls of equal number are one collective; several of one rank under one number (a coalesced
// group, replays of a graph) are told apart by their order. In order of call. O(calls).
[[nodiscard]] std::vector<Draft> drafts_of(size_t group, const GroupCalls& calls,
                                           std::span<const RankDigest> digests);

}  // namespace dprof::analyzer
