// SPDX-License-Identifier: Apache-2.0
// Collectives that ended without having completed: by a time-out, or because a peer was gone.
#pragma once

#include <span>

#include "analyzer/match/match.h"
#include "analyzer/run/run.h"

namespace dprof::analyzer {

// A rank that failed after a collective that needs all members, while one member never reached it
// although that member's trace is complete to its end: removes the collective's end and marks it as
// failed, or as called but not begun if no end was recorded (NCCL). Returns true if it changed any:
// the matching must then be repeated. `traces`: in the order of the digests.
//
// Collectives with a recorded error (CollectiveState::kFailed) have no end in the first place.
[[nodiscard]] bool take_ends_of_failed(std::span<RankDigest> digests,
                                       std::span<const TraceFile> traces, const Matching& matching);

}  // namespace dprof::analyzer
