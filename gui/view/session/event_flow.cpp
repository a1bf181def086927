// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/event_flow.h"

#include <algorithm>

namespace dprof::view {

void EventFlow::take(const SlicePlace& of, const std::vector<analyzer::RelatedRow>& rows) {
  const Model& model = *model_;
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
  find_message_ends();
}

void EventFlow::find_message_ends() {
  const Model& model = *model_;
  const auto find = [&](const std::optional<analyzer::CollectiveMember>& side) {
    if (!side) return std::optional<SlicePlace>();
    const auto place = place_of_row(model, side->rank, "collective", side->row);
    if (place && !holds(*place)) places_.push_back(*place);
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

void EventFlow::forget() {
  places_.clear();
  messages_.clear();
  collective_.reset();
  cut_ = false;
}

std::vector<SlicePlace> EventFlow::places() const {
  return is_of_selected() && places_.size() > 1 ? places_ : std::vector<SlicePlace>();
}

std::vector<ShownMessage> EventFlow::messages() const {
  return is_of_selected() ? messages_ : std::vector<ShownMessage>();
}

bool EventFlow::holds(const SlicePlace& place) const {
  return std::ranges::find(places_, place) != places_.end();
}

}  // namespace dprof::view
