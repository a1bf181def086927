// SPDX-License-Identifier: Apache-2.0
// Pairs receives with sends.
#pragma once

#include "analyzer/align/result.h"
#include "analyzer/match/result.h"
#include "analyzer/match/tokens.h"

namespace dprof::analyzer {

// Fills `messages` and `message_of` of a matching whose groups are known.
//
// Sends and receives of one pair of ranks, communicator and size are paired in the order of their
// calls. (Tags are not recorded; messages of one size under several tags can be confused, which
// moves times, not counts.) A receive from any source takes the earliest remaining send to its
// rank. Where clocks can be compared, no receive takes a send that certainly began after the
// receive ended: its own send was not recorded. O(messages log ranks).
void match_messages(std::span<const RankDigest> digests, const Alignment& alignment,
                    Matching& matching);

}  // namespace dprof::analyzer
