// SPDX-License-Identifier: Apache-2.0
// Where time went, by the stacks of events: the same stack is one node, however often it came, on
// whatever thread and rank.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/view/docks/event_list.h"

namespace dprof::view {

enum class FlameOrder : uint8_t {
  kTopDown,   // who called whom, the dearest first
  kBottomUp,  // who took time itself, and who called it
};
inline constexpr std::array<std::string_view, 2> kFlameOrders = {"top-down", "bottom-up"};

struct FlameNode {
  std::string_view name;                                         // of the events
  uint32_t parent = 0;                                           // 0 = the root
  uint16_t depth = 0;                                            // 1 = outermost
  analyzer::Category phase = analyzer::Category::kOtherCompute;  // of its first event
  int64_t total_ns = 0;   // within the range; bottom-up: of the innermost event, below this caller
  int64_t self_ns = 0;    // not within a child
  int64_t count = 0;      // events
  int64_t offset_ns = 0;  // where it is drawn: after its dearer siblings
};

struct FlameTree {
  std::vector<FlameNode> nodes;  // [0] = the root; parents before children
  int depth = 0;                 // of the deepest node
  int64_t events = 0;
};

// Of the threads that record ranges; collectives and streams have no stacks. `query.order` is
// without meaning here. O(events in the range).
[[nodiscard]] FlameTree flame_of(const RunEvents& events, const EventQuery& query,
                                 FlameOrder order);

}  // namespace dprof::view
