// SPDX-License-Identifier: Apache-2.0
// Which calls of the ranks are alike, and where on its line a rank was ready for one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/breakdown/sums.h"
#include "analyzer/replay/calls.h"

namespace dprof::analyzer {

// [entry][step]: a hash of what the rank calls there, in order.
using Programs = std::vector<std::vector<uint64_t>>;

// Numbers the calls of each step in the order in which they were called, which is the same on ranks
// that do the same. `borders`: [entry][step], where steps begin on the line, and the end.
[[nodiscard]] Programs number_calls(std::vector<std::vector<ReplayedCall>>& calls,
                                    const std::vector<std::vector<TraceNs>>& borders);

// A kernel that waited for the one before on its stream stands where it began; the rank had been
// ready for it earlier, and nothing of its own tells when. It is moved to where ranks that were not
// held back came to the same call: the last one of a meeting never is. Calls nobody came to
// unhindered stay. Leaves each rank's calls in order of the line. O(calls log calls).
void place_queued_calls(std::vector<std::vector<ReplayedCall>>& calls, const Programs& programs,
                        std::span<const OwnClock> clocks);

}  // namespace dprof::analyzer
