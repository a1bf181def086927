// SPDX-License-Identifier: Apache-2.0
// The steps that all ranks have, which of them are steady, and which carry something extra.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/steps/result.h"

namespace dprof::analyzer {

// Where the warm-up ends: the first two steps never count; after them, those before the running
// median of five is at most three MADn above the median of the last half. A run that begins
// faster than it goes on is not trimmed: that is no warm-up. A position in `lengths_ns`.
[[nodiscard]] size_t end_of_warm_up(const std::vector<int64_t>& lengths_ns);

// Takes out the last step of a rank if a collective failed in it: its length is the time-out's. It
// was begun, and not completed.
void drop_failed_steps(std::span<RankDigest> digests);

// Aligns by index: no clock enters. Ranks with less than half as many steps as usual are left out.
// nullopt = no step that is complete on all others that have any; `diagnostics` says why. With
// `chosen` (half-open indices) those steps are the steady ones.
std::optional<Steps> align_steps(std::span<const RankDigest> digests,
                                 const std::optional<std::pair<int64_t, int64_t>>& chosen,
                                 std::vector<Diagnostic>& diagnostics);

}  // namespace dprof::analyzer
