// SPDX-License-Identifier: Apache-2.0
// The steps common to all ranks, which of them are steady, and which contain extra work.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/steps/result.h"

namespace dprof::analyzer {

// The end of the warm-up. The first two steps never count, nor do those before the running median
// of five is at most three MADn above the median of the last half. A run that becomes slower is not
// trimmed: that is no warm-up. A position in `lengths_ns`.
[[nodiscard]] size_t end_of_warm_up(const std::vector<int64_t>& lengths_ns);

// Removes a rank's last step if a collective failed in it: its length is the time-out's. It was
// begun, but not completed.
void drop_failed_steps(std::span<RankDigest> digests);

// Aligns by index, without clocks. Ranks with less than half the usual number of steps are left
// out. nullopt = no step is complete on all other ranks that have any; `diagnostics` says why. With
// `chosen` (half-open indices) those steps are the steady ones.
std::optional<Steps> align_steps(std::span<const RankDigest> digests,
                                 const std::optional<std::pair<int64_t, int64_t>>& chosen,
                                 std::vector<Diagnostic>& diagnostics);

}  // namespace dprof::analyzer
