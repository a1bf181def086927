// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/event_flow.h"

#include <algorithm>

#include "gui/view/model/selection.h"

namespace dprof::view {

void EventFlow::show(const Model& model, const SlicePlace& of,
                     const std::vector<analyzer::RelatedRow>& rows) {
  forget();
  places_ = {of};
  const RankModel& rank = rank_of(model, of);
  cut_ = rows.size() > kMostInFlow;
  for (size_t r = 0; r < std::min(rows.size(), kMostInFlow); ++r) {
    if (const auto place = place_of_row(model, rank.rank, rows[r].table, rows[r].row))
      places_.push_back(*place);
  }
  for (const SlicePlace& place : places_) {
    if (thread_of(model, place).table != "collective") continue;
    const int64_t row = lane_of(model, place).row[place.slice];
    if (const auto message = rank.message_of_row.find(row); message != rank.message_of_row.end())
      messages_.push_back({.message = message->second, .send = {}, .receive = {}});
    const auto member = rank.collective_of_row.find(row);
    if (member != rank.collective_of_row.end() && !collective_)
      collective_ = member->second.collective;
  }
  find_message_ends(model);
}

void EventFlow::find_message_ends(const Model& model) {
  const auto find = [&](const std::optional<analyzer::CollectiveMember>& side) {
    if (!side) return std::optional<SlicePlace>();
    const auto place = place_of_row(model, side->rank, "collective", side->row);
    if (place && !holds(place)) places_.push_back(*place);
    return place;
  };
  for (ShownMessage& shown : messages_) {
    const analyzer::MatchedMessage& message = model.messages[shown.message];
    shown.send = find(message.send);
    shown.receive = find(message.receive);
  }
  std::ranges::stable_sort(places_, {},
                           [&](const SlicePlace& place) { return span_of(model, place).begin; });
}

void EventFlow::forget_if_of(size_t rank_index) {
  const bool is_there = std::ranges::any_of(places_, [&](const SlicePlace& place) {
    return static_cast<size_t>(place.rank_index) == rank_index;
  });
  if (is_there) forget();
}

bool EventFlow::holds(const std::optional<SlicePlace>& place) const {
  return place && std::ranges::find(places_, *place) != places_.end();
}

}  // namespace dprof::view
