// SPDX-License-Identifier: Apache-2.0
// Every nanosecond of a rank gets exactly one category (analysis.md section 4, CPU and Gloo).
#pragma once

#include <vector>

#include "analyzer/analysis.h"
#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"

namespace dprof::analyzer {

// What is known of time of category host.
enum class HostDetail : uint8_t { kNone, kCheckpoint, kRange, kUnattributed };

struct LatticePiece {
  Piece piece;
  HostDetail detail = HostDetail::kNone;
};

// Pieces in order over the whole span of the digest, without a gap; neighbours differ.
// O(n log n) in phases, operators and collectives.
std::vector<LatticePiece> lattice_of(const RankDigest& digest, const std::vector<CommSpan>& comm);

}  // namespace dprof::analyzer
