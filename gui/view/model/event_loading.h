// SPDX-License-Identifier: Apache-2.0
// Decides whose events are in memory: those of the ranks being looked at and, unless the run is
// large, of other ranks while there is room. A run of any size opens with its digests alone and
// stays below its budget.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gui/view/model/model.h"

namespace dprof::view {

struct EventBudget {
  int64_t bytes = int64_t{4} << 30;  // of columns and indexes
};

// The next action: first `drop`, then `load`.
struct EventStep {
  std::vector<size_t> drop;  // rank indexes
  std::optional<size_t> load;
};

// In runs with more ranks only those being looked at are loaded: nobody looks at a thousand ranks,
// and reading them takes longer than everything else.
inline constexpr size_t kMostLoadedUnasked = 64;

// Estimate of a rank's memory before its events are loaded: the size of its trace, which is 25 to
// 40 bytes a row.
[[nodiscard]] int64_t expected_bytes(const Model& model, size_t rank_index);

// `looked_at`: rank indexes whose events should be visible, most important first. Others are loaded
// by number while there is room, and dropped for these. `failed` are not retried. O(ranks).
[[nodiscard]] EventStep next_event_step(const Model& model, const std::vector<size_t>& looked_at,
                                        const std::set<size_t>& failed, EventBudget budget);

// The number of ranks being looked at that are not loaded.
[[nodiscard]] int64_t missing_events(const Model& model, const std::vector<size_t>& looked_at);

// " · without 3 whose events are not loaded", of these ranks or of all: for every figure that is
// made from events. "" if none is missing.
[[nodiscard]] std::string without_events(const Model& model, const std::vector<int>& ranks = {});

}  // namespace dprof::view
