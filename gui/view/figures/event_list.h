// SPDX-License-Identifier: Apache-2.0
// The events behind a selection, in an order.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/view/drawing/texts.h"
#include "gui/view/model/slice_place.h"

namespace dprof::view {

enum class EventOrder : uint8_t { kByTime, kByDuration, kByName, kByRank };
inline constexpr std::array<std::string_view, 4> kEventOrders = {
    english("by time"), english("longest first"), english("by name"), english("by rank")};

// What events are asked for.
struct EventQuery {
  std::vector<int> ranks;  // empty = all
  Interval range;          // that they touch
  std::string name;        // pattern (names.h); "" = any
  std::optional<DurationRange> durations;
  EventOrder order = EventOrder::kByTime;
  [[nodiscard]] bool asks_for(int rank) const;
  friend bool operator==(const EventQuery&, const EventQuery&) = default;
};

inline constexpr size_t kMostListed = 10'000;

struct EventList {
  int64_t count = 0;               // that there are
  std::vector<SlicePlace> events;  // the first kMostListed of them in the order
};

// Calls back for each event that is asked for, rank by rank and lane by lane.
void each_event(const RunEvents& events, const EventQuery& query,
                const std::function<void(const SlicePlace& place, Interval span)>& each);

// How many there are of any name. O(lanes * log events).
[[nodiscard]] int64_t count_events(const RunEvents& events, const EventQuery& query);

// O(events in the range + names log names).
[[nodiscard]] EventList list_events(const RunEvents& events, const EventQuery& query);

// Walks the events whose names match, of all ranks in the order of their beginnings: the next one
// (by > 0) or the one before. `from` is the event that the walk stands at; without one it stands at
// `time`. nullopt = there is none. O(lanes * log events + events passed over).
[[nodiscard]] std::optional<SlicePlace> next_named(const Model& model, std::string_view pattern,
                                                   std::optional<SlicePlace> from, TraceNs time,
                                                   int by);

}  // namespace dprof::view
