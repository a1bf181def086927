// SPDX-License-Identifier: Apache-2.0
// Where a training thread waits for a collective, and another one that is under way makes it look
// like computation.
#pragma once

#include <span>
#include <vector>

#include "analyzer/breakdown/lattice.h"
#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

// The rank's pieces with such waits as kExposedWait. Beside a collective a phase counts as
// computation. Where operators were recorded, a stretch without any that ends as soon as one of the
// rank's collectives does is a wait for that one. Ranks with GPUs stay as they are.
// O(pieces + operators + calls log calls).
[[nodiscard]] std::vector<LatticePiece> with_hidden_waits(const RankDigest& digest,
                                                          std::span<const LatticePiece> pieces);

}  // namespace dprof::analyzer
