// SPDX-License-Identifier: Apache-2.0
// In what state each collective of a communicator is.
#pragma once

#include <span>
#include <vector>

#include "analyzer/match/instances.h"
#include "analyzer/match/resync.h"

namespace dprof::analyzer {

// A member that has no record of a collective misses it if it recorded earlier and later ones of
// the communicator (or none at all); else its trace begins later or ended earlier: truncated.
void settle_states(std::vector<Draft>& drafts, const Group& group, const GroupCalls& calls,
                   const Resync& resync, std::span<const RankDigest> digests);

}  // namespace dprof::analyzer
