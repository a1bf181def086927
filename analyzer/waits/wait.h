// SPDX-License-Identifier: Apache-2.0
// Divides the time of a matched collective or message into waiting for others and transfer
// (docs/analysis/communication.md). docs/analysis/communication.md says how, and how well it is
// known.
#pragma once

#include "analyzer/align/result.h"
#include "analyzer/match/result.h"

namespace dprof::analyzer {

// Fills transfer_ns, last_arriver, guessed, spread_ns, bound_ns and the members' wait_ns of an
// instance that is comparable. O(members log knots).
//
// A synchronising function needs no clock: all members finish together, so the shortest stay is the
// last arriver's, and is the transfer. Where the members' ends are known to lie further apart than
// their clocks, and than a twentieth of the transfer, their starts decide. Directional functions
// (broadcast, reduce, …) need the times of root and members on one clock; without, the shortest
// stay is a guess.
void divide(Instance& instance, std::span<const RankDigest> digests, const Group& group,
            const Alignment& alignment);

// Late sender, late receiver: nothing can be moved before both have come. Fills transfer_ns,
// bound_ns and both sides' wait_ns, if their times can be compared.
void divide(Message& message, std::span<const RankDigest> digests, const Alignment& alignment);

}  // namespace dprof::analyzer
