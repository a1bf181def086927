// SPDX-License-Identifier: Apache-2.0
// The lines of the page Collectives, in order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gui/view/drawing/texts.h"
#include "gui/view/figures/collective_groups.h"
#include "gui/view/model/model.h"

namespace dprof::view {

enum class CollectiveOrder : uint8_t { kByTime, kByWait, kByTransfer, kBySize };
inline constexpr std::array<std::string_view, 4> kCollectiveOrders = {
    english("by time"), english("longest wait first"), english("longest transfer first"),
    english("largest first")};

// Positions in Model::collectives, of one kind or of all; collectives that never completed come
// first. O(n log n).
[[nodiscard]] std::vector<uint32_t> sorted_collectives(const Model& model, CollectiveOrder order,
                                                       const std::optional<CollectiveKind>& kind);

// From the first arrival to the last; nullopt = fewer than two members came.
[[nodiscard]] std::optional<DurationNs> arrival_spread(
    const analyzer::MatchedCollective& collective);

}  // namespace dprof::view
