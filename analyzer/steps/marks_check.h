// SPDX-License-Identifier: Apache-2.0
// Checks whether marked steps can be trusted, and gives a step the same number on all
// ranks.
#pragma once

#include <span>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"

namespace dprof::analyzer {

// Holds marks against each other (they must not overlap) and against the collectives: what two
// ranks do together is in the same step on both. A rank that counts from another number is
// renumbered; marks that do not hold are dropped, for the next evidence: the ends of optimizer
// ranges, and then nothing, so that the rank's steps come from its peers or are inferred. Says in
// `diagnostics` what it changed.
void check_marks(std::span<RankDigest> digests, const Matching& matching,
                 std::vector<Diagnostic>& diagnostics);

}  // namespace dprof::analyzer
