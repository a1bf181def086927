// SPDX-License-Identifier: Apache-2.0
// Every nanosecond of a rank gets exactly one category (docs/analysis/breakdown.md).
#pragma once

#include <vector>

#include "analyzer/digest/detail.h"
#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/vocabulary/category.h"
#include "analyzer/waits/waits.h"

namespace dprof::analyzer {

// A Piece with further details. There are millions: flat, it takes 24 bytes; with a Piece inside it
// would take 32.
struct LatticePiece {
  Interval span;
  Category category = Category::kIdle;
  Category phase = Category::kIdle;
  HostDetail detail = HostDetail::kNone;
};
static_assert(sizeof(LatticePiece) == 24);

// Ordered pieces that cover the whole span of the digest without a gap; neighbours differ. The time
// of a rank with GPU rows is divided by its devices (gpu_lattice.h), of others by the training
// thread. O(n log n) in phases, operators and collectives; O(pieces) with GPUs.
std::vector<LatticePiece> lattice_of(const RankDigest& digest, const std::vector<CommSpan>& comm);

}  // namespace dprof::analyzer
