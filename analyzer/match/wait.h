// SPDX-License-Identifier: Apache-2.0
// Divides the time of a matched collective into waiting for the last member and transfer.
#pragma once

#include "analyzer/match/match.h"

namespace dprof::analyzer {

// Fills transfer_ns, last_arriver and the members' wait_ns. Synchronising functions need no clocks:
// all members finish together, so the shortest stay is the last arriver's, and is the transfer.
// Others (broadcast, reduce, …) need the members' times on one clock; without, the same rule is the
// best guess.
void divide(Instance& instance, std::span<const RankDigest> digests, const Group& group,
            bool aligned);

}  // namespace dprof::analyzer
