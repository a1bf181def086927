// SPDX-License-Identifier: Apache-2.0
// When the members of a collective arrived, waited and left.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/analysis.h"

namespace dprof::view {

// The members of a collective that arrived, earliest first.
[[nodiscard]] std::vector<const analyzer::CollectiveMember*> arrivals_of(
    const analyzer::MatchedCollective& collective);

// A member's arrival: its start, or its enqueue if the start was not recorded.
[[nodiscard]] std::optional<TraceNs> arrival_of(const analyzer::CollectiveMember& member);

// From the first arrival to the last end; empty if no member arrived.
[[nodiscard]] Interval extent_of(const analyzer::MatchedCollective& collective);

[[nodiscard]] int64_t longest_wait(const analyzer::MatchedCollective& collective);

}  // namespace dprof::view
