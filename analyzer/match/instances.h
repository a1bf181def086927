// SPDX-License-Identifier: Apache-2.0
// The collectives of one communicator, assembled from numbered calls.
#pragma once

#include <span>
#include <vector>

#include "analyzer/match/calls.h"

namespace dprof::analyzer {

// A collective that is still being checked.
struct Draft {
  Instance instance;
  std::vector<uint32_t> calls;  // by member: position in its rank's calls
  std::vector<uint32_t> ranks;  // by member: position in GroupCalls::ranks
  uint32_t majority = 0;        // a member that agrees with most
  std::vector<uint32_t> odd;    // members in conflict with the majority
  bool tie = false;             // no majority
  bool out_of_order = false;    // some ranks called it before another one, others after it
};

// Calls with equal numbers form one collective; several calls of one rank under one number (a
// coalesced group, replays of a graph) are distinguished by their order. In order of call.
// O(calls).
[[nodiscard]] std::vector<Draft> drafts_of(size_t group, const GroupCalls& calls,
                                           std::span<const RankDigest> digests);

}  // namespace dprof::analyzer
