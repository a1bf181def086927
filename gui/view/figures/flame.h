// SPDX-License-Identifier: Apache-2.0
// The time by event stacks: equal stacks are one node, however often they occur, on
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
  kTopDown,   // callers, then callees, the most expensive first
  kByTime,    // the same in order of first occurrence
  kBottomUp,  // names by own time, with their callers
  kSandwich,  // of one name: its callers and its callees
};
inline constexpr std::array<std::string_view, 4> kFlameOrders = {
    english("top-down"), english("in time order"), english("bottom-up"), english("sandwich")};

struct FlameNode {
  std::string_view name;  // of the events
  uint32_t parent = 0;    // 0 = the root
  int16_t depth = 0;      // 1 = outermost; in a sandwich callers are -1, -2 … above the name
  analyzer::Category phase = analyzer::Category::kOtherCompute;  // of its first event
  int64_t total_ns = 0;   // within the range; bottom-up: of the innermost event, below this caller
  int64_t self_ns = 0;    // outside its children
  int64_t count = 0;      // events
  int64_t first_ns = 0;   // when the first of them begins
  int64_t offset_ns = 0;  // drawing position: after its earlier siblings
};

struct FlameTree {
  std::vector<FlameNode> nodes;  // [0] = the root; parents before children
  int depth = 0;                 // of the deepest node
  int callers = 0;               // levels of them above
  int64_t events = 0;
};

// For threads that record ranges; collectives and streams have no stacks. `query.order` is ignored;
// `query.name` is the name for the sandwich. O(events in the range).
[[nodiscard]] FlameTree flame_of(const RunEvents& events, const EventQuery& query,
                                 FlameOrder order);

}  // namespace dprof::view
