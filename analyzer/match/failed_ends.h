// SPDX-License-Identifier: Apache-2.0
// Collectives that ended and cannot have been completed: a time-out, or a peer that was gone.
#pragma once

#include <span>

#include "analyzer/match/match.h"
#include "analyzer/run/run.h"

namespace dprof::analyzer {

// A rank that failed behind a collective that needs all members, one of which never came to it,
// though that member's trace is whole up to its end: takes the collective's end and marks it as
// failed, or as called and not begun where no end was recorded (NCCL's). True if there was any:
// what was matched is to be matched anew. `traces`: in the order of the digests.
//
// Collectives whose error was recorded (CollectiveState::kFailed) have no end to begin with.
[[nodiscard]] bool take_ends_of_failed(std::span<RankDigest> digests,
                                       std::span<const TraceFile> traces, const Matching& matching);

}  // namespace dprof::analyzer
