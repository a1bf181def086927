// SPDX-License-Identifier: Apache-2.0
// What the docks show of a session's selection.
#include <algorithm>

#include "gui/view/session.h"

namespace dprof::view {
namespace {

constexpr int64_t kAtOnce = 20'000;  // events that a frame has time for

FlameTree flame_for(const RunEvents& events, const std::pair<EventQuery, FlameOrder>& asked) {
  const bool nobody = asked.second == FlameOrder::kSandwich && asked.first.name.empty();
  return nobody ? FlameTree() : flame_of(events, asked.first, asked.second);
}
Durations durations_for(const RunEvents& events, const EventQuery& query) {
  return query.name.empty() ? Durations() : durations_of(events, query);
}

}  // namespace

EventQuery Session::event_query() const {
  return {selection_.ranks, selected_range(), selection_.name, selection_.durations, event_order_};
}

bool Session::is_quick(const EventQuery& query) const {
  return !defers_counting_ || count_events(events_of(*model_), query) <= kAtOnce;
}

const EventList& Session::events() const {
  const EventQuery query = event_query();
  return events_.soon(
      query, [&] { return is_quick(query); },
      [&](const EventQuery& asked) { return list_events(events_of(*model_), asked); });
}

const EventList& Session::events_now() const {
  return events_.now(event_query(), [&](const EventQuery& query) {
    return list_events(events_of(*model_), query);
  });
}

const FlameTree& Session::flame() const {
  EventQuery query = event_query();
  // A stack is known by all its names.
  query.name = flame_order_ == FlameOrder::kSandwich ? histogram_name() : std::string();
  query.durations.reset();
  query.order = EventOrder::kByTime;
  return flame_.soon(
      FlameQuery(query, flame_order_), [&] { return is_quick(query); },
      [&](const FlameQuery& asked) { return flame_for(events_of(*model_), asked); });
}

std::string Session::histogram_name() const {
  if (!selection_.name.empty()) return selection_.name;
  return selection_.slice ? name_of(*model_, *selection_.slice) : std::string();
}

EventQuery Session::durations_query() const {
  return {selection_.ranks, selection_.range.value_or(model_->span), histogram_name(), {}};
}

const Durations& Session::durations() const {
  const EventQuery query = durations_query();
  EventQuery of_all = query;
  of_all.ranks.clear();
  return durations_.soon(
      query, [&] { return query.name.empty() || is_quick(of_all); },
      [&](const EventQuery& asked) { return durations_for(events_of(*model_), asked); });
}

const NamedMarks& Session::named_marks() const {
  static const NamedMarks kNone;
  if (selection_.name.empty()) return kNone;
  MarkQuery query{{{}, range_, selection_.name, selection_.durations},
                  {range_.length().ns / width_}};
  std::vector<int>& ranks = query.events.ranks;
  for (const Row& row : layout_.rows) {
    if (row.kind != RowKind::kThread) continue;
    const int rank = model_->ranks[static_cast<size_t>(row.rank_index)].rank;
    if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
  }
  if (ranks.empty()) return kNone;
  const NamedMarks& marks = marks_.soon(
      query, [&] { return is_quick(query.events); },
      [&](const MarkQuery& asked) { return marks_of(events_of(*model_), asked); });
  // The former may be another name's.
  const MarkQuery* shown = marks_.kept();
  const bool same = shown != nullptr && shown->events.name == query.events.name &&
                    shown->events.durations == query.events.durations;
  return same ? marks : kNone;
}

bool Session::is_counting(Dock dock) const {
  switch (dock) {
    case Dock::kTable:
      return events_.wanted().has_value();
    case Dock::kFlame:
      return flame_.wanted().has_value();
    case Dock::kHistogram:
      return durations_.wanted().has_value();
    default:
      return false;
  }
}

template <typename Key, typename Value>
Session::Count Session::begin_count(Counted<Key, Value> Session::*into,
                                    Value (*make)(const RunEvents&, const Key&)) {
  counts_ = true;
  return [into, make, key = *(this->*into).wanted(), model = model_, from = counts_from_,
          events = events_of(*model_)]() -> std::function<void(Session&)> {
    auto value = std::make_shared<Value>(make(events, key));
    return [into, key, model, from, value](Session& session) {
      if (session.model_ != model || session.counts_from_ != from) return;
      session.counts_ = false;
      (session.*into).give(key, std::move(*value));
    };
  };
}

std::optional<Session::Count> Session::next_count() {
  if (counts_) return std::nullopt;
  if (events_.wanted()) return begin_count(&Session::events_, &list_events);
  if (flame_.wanted()) return begin_count(&Session::flame_, &flame_for);
  if (durations_.wanted()) return begin_count(&Session::durations_, &durations_for);
  if (marks_.wanted()) return begin_count(&Session::marks_, &marks_of);
  return std::nullopt;
}

void Session::forget_events() {
  events_.forget();
  flame_.forget();
  durations_.forget();
  marks_.forget();
  ++counts_from_;
  counts_ = false;
}

void Session::select_name(std::string pattern) {
  if (pattern != selection_.name) selection_.durations.reset();
  selection_.name = std::move(pattern);
}

void Session::select_durations(std::optional<DurationRange> durations) {
  if (durations) selection_.name = histogram_name();
  selection_.durations = durations;
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
  const Selection kept = selection_;
  choose_rank(rank_of(*model_, *found).rank);
  selection_.name = kept.name;
  selection_.durations = kept.durations;
  selection_.slice = found;
  unfold_selected();
  show_slice();
  return true;
}

}  // namespace dprof::view
