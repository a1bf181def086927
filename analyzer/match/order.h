// SPDX-License-Identifier: Apache-2.0
// Numbers calls that nobody numbered: by their order within steps and by what they are.
#pragma once

#include <span>

#include "analyzer/match/calls.h"

namespace dprof::analyzer {

// How far apart the two lists of an alignment may be at most, in calls.
inline constexpr size_t kAlignmentBand = 64;

// Pairs (position in a, position in b) of a longest common subsequence of the two, whose positions
// are at most kAlignmentBand apart. In order. O(kAlignmentBand × length), less for equal ends.
[[nodiscard]] std::vector<std::pair<size_t, size_t>> aligned_positions(std::span<const uint64_t> a,
                                                                       std::span<const uint64_t> b);

// Each step of a rank (its own markers; without any on some rank, all of its calls) is aligned with
// the rank that has most calls in it. So a lost record shifts nothing beyond its step, and within
// it only calls that are like it. As many calls on both sides between two that agree are taken to
// be the same ones, with other contents.
void number_by_order(GroupCalls& group, std::span<const RankDigest> digests);

}  // namespace dprof::analyzer
