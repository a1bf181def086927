// SPDX-License-Identifier: Apache-2.0
// What the docks show of a session's selection.
#include <algorithm>

#include "gui/view/session.h"

namespace dprof::view {

EventQuery Session::event_query() const {
  return {selection_.ranks, selected_range(), selection_.name, event_order_};
}

const EventList& Session::events() const {
  return events_.of(event_query(),
                    [&](const EventQuery& query) { return list_events(*model_, query); });
}

const FlameTree& Session::flame() const {
  EventQuery query = event_query();
  query.name.clear();  // a stack is known by all its names
  query.order = EventOrder::kByTime;
  return flame_.of(std::pair(std::move(query), flame_order_),
                   [&](const auto& key) { return flame_of(*model_, key.first, key.second); });
}

std::string Session::histogram_name() const {
  if (!selection_.name.empty()) return selection_.name;
  return selection_.slice ? name_of(*model_, *selection_.slice) : std::string();
}

const Durations& Session::durations() const {
  const EventQuery query{selection_.ranks, selection_.range.value_or(model_->span),
                         histogram_name()};
  return durations_.of(query, [&](const EventQuery& asked) {
    return asked.name.empty() ? Durations() : durations_of(*model_, asked);
  });
}

void Session::select_event(const SlicePlace& place) {
  if (!selection_.range && !selection_.step) selection_.range = range_;
  selection_.slice = place;
  if (arrangement_.unfolded_ranks.insert(rank_of(*model_, place).rank).second) relayout();
  if (const Row* row = layout_.of_rank(place.rank_index)) scroll_to(*row);
  show_slice();
}

bool Session::next_named(std::string_view pattern, int by) {
  const auto found = dprof::view::next_named(*model_, pattern, selection_.slice,
                                             by > 0 ? range_.begin : range_.end, by);
  if (!found) return false;
  const std::string kept = selection_.name;
  choose_rank(rank_of(*model_, *found).rank);
  selection_.name = kept;
  selection_.slice = found;
  unfold_selected();
  show_slice();
  return true;
}

}  // namespace dprof::view
