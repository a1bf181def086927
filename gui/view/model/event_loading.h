// SPDX-License-Identifier: Apache-2.0
// Whose events are in memory: those of the ranks that are looked at, and in runs that are not large
// of others as long as there is room. A run of any size opens with what its digests tell, and stays
// below its budget.
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

// What is to be done next: first `drop`, then `load`.
struct EventStep {
  std::vector<size_t> drop;  // rank indexes
  std::optional<size_t> load;
};

// In runs of more ranks only what is looked at is loaded: nobody looks at a thousand ranks, and
// reading them takes longer than all else.
inline constexpr size_t kMostLoadedUnasked = 64;

// How much a rank's events will take, before they are loaded: what its trace takes, which is a
// row's 25 to 40 bytes.
[[nodiscard]] int64_t expected_bytes(const Model& model, size_t rank_index);

// `looked_at`: rank indexes whose events are to be seen, the most important first; others are
// loaded by their number while there is room, and given up for them. `failed` are not tried again.
// O(ranks).
[[nodiscard]] EventStep next_event_step(const Model& model, const std::vector<size_t>& looked_at,
                                        const std::set<size_t>& failed, EventBudget budget);

// Of those that are looked at: how many are not loaded. 0 where nothing is missing.
[[nodiscard]] int64_t missing_events(const Model& model, const std::vector<size_t>& looked_at);

// " · without 3 whose events are not loaded", of these ranks or of all: for every figure that is
// made from events. "" where nothing is missing.
[[nodiscard]] std::string without_events(const Model& model, const std::vector<int>& ranks = {});

}  // namespace dprof::view
