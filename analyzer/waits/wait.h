// SPDX-License-Identifier: Apache-2.0
// Divides the time of a matched collective or message into waiting for others and transfer.
// docs/analysis/communication.md explains the method and its accuracy.
#pragma once

#include "analyzer/align/result.h"
#include "analyzer/match/result.h"

namespace dprof::analyzer {

// Fills transfer_ns, last_arriver, guessed, spread_ns, bound_ns and the members' wait_ns of a
// comparable instance. O(members log knots).
//
// A synchronising function needs no clock: all members finish together, so the last arriver has the
// shortest duration, which is the transfer. If the members' ends are known to differ by more than
// their clocks' bounds and more than a twentieth of the transfer, their starts decide. Directional
// functions (broadcast, reduce, …) need the times of root and members on one clock; otherwise the
// shortest duration is a guess.
void divide(Instance& instance, std::span<const RankDigest> digests, const Group& group,
            const Alignment& alignment);

// Late sender, late receiver: nothing can be transferred before both sides have arrived. Fills
// transfer_ns, bound_ns and both sides' wait_ns, if their times can be compared.
void divide(Message& message, std::span<const RankDigest> digests, const Alignment& alignment);

}  // namespace dprof::analyzer
