// SPDX-License-Identifier: Apache-2.0
// Identifies the communicators of the ranks' traces that are one.
#pragma once

#include <span>
#include <vector>

#include "analyzer/match/match.h"

namespace dprof::analyzer {

// Fills `groups` and `group_of`. One communicator is: the same hash (where there is none: name),
// the same ordinal, the same members as far as both sides know them, and on each rank the same
// creation (its first, second, …) under these. O(communicators × members).
void join_groups(std::span<const RankDigest> digests, Matching& matching);

}  // namespace dprof::analyzer
