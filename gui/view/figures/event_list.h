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

// The requested events.
struct EventQuery {
  std::vector<int> ranks;  // empty = all
  Interval range;          // that they overlap
  std::string name;        // pattern (names.h); "" = any
  std::optional<DurationRange> durations;
  EventOrder order = EventOrder::kByTime;
  [[nodiscard]] bool asks_for(int rank) const;
  friend bool operator==(const EventQuery&, const EventQuery&) = default;
};

inline constexpr size_t kMostListed = 10'000;

struct EventList {
  int64_t count = 0;               // total number
  std::vector<SlicePlace> events;  // the first kMostListed in the order
};

// Calls back for each requested event, rank by rank and lane by lane.
void each_event(const RunEvents& events, const EventQuery& query,
                const std::function<void(const SlicePlace& place, Interval span)>& each);

// Their number, whatever the name. O(lanes * log events).
[[nodiscard]] int64_t count_events(const RunEvents& events, const EventQuery& query);

// O(events in the range + names log names).
[[nodiscard]] EventList list_events(const RunEvents& events, const EventQuery& query);

// Walks the events whose names match, on all ranks in order of begin: the next one (by > 0) or the
// previous one. `from` is the current event; without one, starts at `time`. nullopt = there is
// none. O(lanes * log events + events passed over).
[[nodiscard]] std::optional<SlicePlace> next_named(const Model& model, std::string_view pattern,
                                                   std::optional<SlicePlace> from, TraceNs time,
                                                   int by);

}  // namespace dprof::view
