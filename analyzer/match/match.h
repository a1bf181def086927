// SPDX-License-Identifier: Apache-2.0
// Matches the ranks' records of one collective, and divides its time into waiting for the last
// member and transfer.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/match/result.h"

namespace dprof::analyzer {

// No member can finish before every member has begun.
[[nodiscard]] bool is_synchronising(schema::Function function);

// Finds the records that belong together, and their state. Compares no times across ranks.
// O(records), plus 64 × records for ranks whose calls had to be aligned by content. `paged`: the
// members of the instances are put into paged memory.
[[nodiscard]] Matching match_collectives(std::span<const RankDigest> digests, bool paged = false);

// Gives instances the step in which most members called them, and a bucket where it was recorded
// only for some members or only for the same place in other steps. Needs the digests' steps.
void attach_steps(Matching& matching, std::span<const RankDigest> digests);

}  // namespace dprof::analyzer
