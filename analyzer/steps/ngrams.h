// SPDX-License-Identifier: Apache-2.0
// Short token strings that recur at a regular distance and so vote for the length of a step
// (docs/analysis/steps.md). Independent of what a token means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dprof::analyzer {

inline constexpr size_t kLongestGram = 8;
inline constexpr size_t kFewestOccurrences = 5;

struct Gram {
  size_t length = 0;
  size_t distance = 0;     // the usual one between successive occurrences, in tokens
  double share = 0;        // of the distances that equal the usual one
  std::vector<size_t> at;  // positions of its first token, ascending
};

struct VotingRule {
  double share = 0.8;     // of the distances that equal the usual one
  double tolerance = 0;   // a distance within this share of the usual one counts as it
  double coverage = 0.8;  // of the sequence, by occurrences times distance, and from first to last
  size_t fewest = kFewestOccurrences;
};

// The grams that voted for one distance.
struct Vote {
  size_t distance = 0;
  std::vector<Gram> grams;
};

// The distance with the most votes by grams of 1 to 8 tokens; among several the longest. Without
// any vote `distance` is 0. O(8 N) hashing.
[[nodiscard]] Vote vote_on_distance(std::span<const uint32_t> tokens, const VotingRule& rule);

// The tokens of 0 … kinds - 1 that would vote alone, for any distance. O(N log N).
[[nodiscard]] std::vector<bool> regular_tokens(std::span<const uint32_t> tokens, size_t kinds,
                                               const VotingRule& rule);

}  // namespace dprof::analyzer
