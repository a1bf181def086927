// SPDX-License-Identifier: Apache-2.0
// Numbers calls without recorded numbers, by their order within steps and their contents.
#pragma once

#include <span>

#include "analyzer/match/calls.h"

namespace dprof::analyzer {

// Largest offset between the two lists of an alignment, in calls.
inline constexpr size_t kAlignmentBand = 64;

// Pairs (position in a, position in b) of a longest common subsequence of a and b whose positions
// differ by at most kAlignmentBand. In order. O(kAlignmentBand × length), less for equal ends.
[[nodiscard]] std::vector<std::pair<size_t, size_t>> aligned_positions(std::span<const uint64_t> a,
                                                                       std::span<const uint64_t> b);

// Aligns each step of a rank (by its own markers; if some rank has none, all of its calls) with the
// rank that has most calls in it. A lost record thus shifts nothing outside its step, and inside it
// only calls of the same kind. Between two calls that agree, equally many calls on both sides count
// as the same calls with different contents.
void number_by_order(GroupCalls& group, std::span<const RankDigest> digests);

}  // namespace dprof::analyzer
