// SPDX-License-Identifier: Apache-2.0
// Where time went, by the stacks of events: the same stack is one node, however often it came, on
// whatever thread and rank.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/view/drawing/texts.h"
#include "gui/view/figures/event_list.h"

namespace dprof::view {

enum class FlameOrder : uint8_t {
  kTopDown,   // who called whom, the most expensive first
  kByTime,    // the same in the order in which they first came
  kBottomUp,  // who took time itself, and who called it
  kSandwich,  // of one name: who called it, and what it called
};
inline constexpr std::array<std::string_view, 4> kFlameOrders = {
    english("top-down"), english("in time order"), english("bottom-up"), english("sandwich")};

struct FlameNode {
  std::string_view name;  // of the events
  uint32_t parent = 0;    // 0 = the root
  int16_t depth = 0;      // 1 = outermost; in a sandwich callers are -1, -2 … above the name
  analyzer::Category phase = analyzer::Category::kOtherCompute;  // of its first event
  int64_t total_ns = 0;   // within the range; bottom-up: of the innermost event, below this caller
  int64_t self_ns = 0;    // not within a child
  int64_t count = 0;      // events
  int64_t first_ns = 0;   // when the first of them begins
  int64_t offset_ns = 0;  // where it is drawn: after the siblings before it
};

struct FlameTree {
  std::vector<FlameNode> nodes;  // [0] = the root; parents before children
  int depth = 0;                 // of the deepest node
  int callers = 0;               // levels of them above
  int64_t events = 0;
};

// Of the threads that record ranges; collectives and streams have no stacks. `query.order` is
// without meaning here, `query.name` is that of the sandwich. O(events in the range).
[[nodiscard]] FlameTree flame_of(const RunEvents& events, const EventQuery& query,
                                 FlameOrder order);

}  // namespace dprof::view
