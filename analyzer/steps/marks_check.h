// SPDX-License-Identifier: Apache-2.0
// Checks whether marked steps can be trusted, and gives a step the same number on all ranks.
#pragma once

#include <span>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"

namespace dprof::analyzer {

// Checks marks against each other (they must not overlap) and against the collectives: shared
// operations are in the same step on both ranks. A rank that counts from another number is
// renumbered. Unsound marks are dropped in favour of the next evidence: the ends of optimizer
// ranges, then none, so that the rank's steps come from its peers or are inferred. Reports its
// changes in `diagnostics`.
void check_marks(std::span<RankDigest> digests, const Matching& matching,
                 std::vector<Diagnostic>& diagnostics);

}  // namespace dprof::analyzer
