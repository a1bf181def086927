// SPDX-License-Identifier: Apache-2.0
// Finds which communicators in the ranks' traces are the same one.
#pragma once

#include <span>
#include <vector>

#include "analyzer/match/match.h"

namespace dprof::analyzer {

// Fills `groups` and `group_of`. Two entries are one communicator if they agree in hash (without
// one: name), ordinal, members as far as both sides know them, and, on each rank, creation order
// (first, second, …) among these. O(communicators × members).
void join_groups(std::span<const RankDigest> digests, Matching& matching);

}  // namespace dprof::analyzer
