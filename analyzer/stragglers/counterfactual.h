// SPDX-License-Identifier: Apache-2.0
// How long the steps would take if a rank worked as its peers do: the meetings of the ranks
// replayed with other segments. "Excess over the median" would promise too much, for another rank
// would be last.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/stragglers/segments.h"

namespace dprof::analyzer {

// Whose segments are replaced by the median of the other ranks' at the same meeting.
struct Replacement {
  std::optional<size_t> rank;  // one rank
  bool all = false;            // every rank: by the median of all
};

// Simulated length of each step that holds a meeting, in order. A meeting ends a transfer after the
// last rank has come; where it holds ranks up, they go on from there. O(meetings * ranks).
std::vector<int64_t> replay(std::span<const Meeting> meetings, const Replacement& replacement);

// recorded[i] - replay(replacement)[i]: what each step would gain.
std::vector<int64_t> gain_of(std::span<const Meeting> meetings, std::span<const int64_t> recorded,
                             const Replacement& replacement);

}  // namespace dprof::analyzer
