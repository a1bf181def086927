// SPDX-License-Identifier: Apache-2.0
// What the selected event led to or came from: on its own rank as its trace tells, and on others by
// messages and collectives.
#include <algorithm>

#include "gui/view/session.h"

namespace dprof::view {

void Session::show_flow(const SlicePlace& of, const std::vector<analyzer::RelatedRow>& rows) {
  forget_flow();
  flow_ = {of};
  const RankModel& rank = rank_of(*model_, of);
  flow_cut_ = rows.size() > kMostInFlow;
  for (size_t r = 0; r < std::min(rows.size(), kMostInFlow); ++r) {
    if (const auto place = place_of_row(*model_, rank.rank, rows[r].table, rows[r].row))
      flow_.push_back(*place);
  }
  for (const SlicePlace& place : flow_) {
    if (thread_of(*model_, place).table != "collective") continue;
    const int64_t row = lane_of(*model_, place).row[place.slice];
    if (const auto message = rank.message_of_row.find(row); message != rank.message_of_row.end())
      messages_.push_back({.message = message->second, .send = {}, .receive = {}});
    const auto member = rank.collective_of_row.find(row);
    if (member != rank.collective_of_row.end() && selection_.slice == of && !selection_.collective)
      selection_.collective = member->second.collective;
  }
  find_message_ends();
}

// Where the sides of the messages are drawn, as far as their ranks' events are loaded.
void Session::find_message_ends() {
  const auto find = [&](const std::optional<analyzer::CollectiveMember>& side) {
    if (!side) return std::optional<SlicePlace>();
    const auto place = place_of_row(*model_, side->rank, "collective", side->row);
    if (place && std::ranges::find(flow_, *place) == flow_.end()) flow_.push_back(*place);
    return place;
  };
  for (ShownMessage& shown : messages_) {
    const analyzer::MatchedMessage& message = model_->messages[shown.message];
    shown.send = find(message.send);
    shown.receive = find(message.receive);
  }
  std::ranges::stable_sort(flow_, {},
                           [&](const SlicePlace& place) { return span_of(*model_, place).begin; });
}

void Session::forget_flow() {
  flow_.clear();
  messages_.clear();
  flow_cut_ = false;
}

bool Session::is_in_flow() const {
  return selection_.slice && std::ranges::find(flow_, *selection_.slice) != flow_.end();
}

std::vector<SlicePlace> Session::flow() const {
  return is_in_flow() && flow_.size() > 1 ? flow_ : std::vector<SlicePlace>();
}

std::vector<ShownMessage> Session::messages() const {
  return is_in_flow() ? messages_ : std::vector<ShownMessage>();
}

bool Session::next_in_flow(int by) {
  const std::vector<SlicePlace> all = flow();
  if (all.empty()) return false;
  const auto at = std::ranges::find(all, *selection_.slice) - all.begin() + by;
  if (at < 0 || at >= static_cast<ptrdiff_t>(all.size())) return false;
  select_event(all[static_cast<size_t>(at)]);
  return true;
}

}  // namespace dprof::view
