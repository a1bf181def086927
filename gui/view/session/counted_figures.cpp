// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/counted_figures.h"

namespace dprof::view {
namespace {

constexpr int64_t kAtOnce = 20'000;      // events that a frame has time for
constexpr size_t kTasksAtOnce = 20'000;  // of a replay

FlameTree flame_for(const RunEvents& events, const std::pair<EventQuery, FlameOrder>& asked) {
  const bool nobody = asked.second == FlameOrder::kSandwich && asked.first.name.empty();
  return nobody ? FlameTree() : flame_of(events, asked.first, asked.second);
}
Durations durations_for(const RunEvents& events, const EventQuery& query) {
  return query.name.empty() ? Durations() : durations_of(events, query);
}

}  // namespace

void CountedFigures::forget(std::shared_ptr<const Model> model) {
  if (model_ != model) {  // answers need no events
    what_if_.forget();
    trials_.forget();
  }
  model_ = std::move(model);
  events_.forget();
  flame_.forget();
  durations_.forget();
  marks_.forget();
  ++counts_from_;
  counts_ = false;
}

bool CountedFigures::is_quick(const EventQuery& query) const {
  return !defers_ || count_events(events_of(*model_), query) <= kAtOnce;
}

const EventList& CountedFigures::events(const EventQuery& query) const {
  return events_.soon(
      query, [&] { return is_quick(query); },
      [&](const EventQuery& asked) { return list_events(events_of(*model_), asked); });
}

const EventList& CountedFigures::events_now(const EventQuery& query) const {
  return events_.now(
      query, [&](const EventQuery& asked) { return list_events(events_of(*model_), asked); });
}

const FlameTree& CountedFigures::flame(const FlameQuery& query) const {
  return flame_.soon(
      query, [&] { return is_quick(query.first); },
      [&](const FlameQuery& asked) { return flame_for(events_of(*model_), asked); });
}

const Durations& CountedFigures::durations(const EventQuery& query) const {
  EventQuery of_all = query;
  of_all.ranks.clear();
  return durations_.soon(
      query, [&] { return query.name.empty() || is_quick(of_all); },
      [&](const EventQuery& asked) { return durations_for(events_of(*model_), asked); });
}

const NamedMarks& CountedFigures::marks(const MarkQuery& query) const {
  static const NamedMarks kNone;
  const NamedMarks& marks = marks_.soon(
      query, [&] { return is_quick(query.events); },
      [&](const MarkQuery& asked) { return marks_of(events_of(*model_), asked); });
  const MarkQuery* shown = marks_.kept();
  const bool same = shown != nullptr && shown->events.name == query.events.name &&
                    shown->events.durations == query.events.durations;
  return same ? marks : kNone;
}

bool CountedFigures::answers_quickly(size_t questions) const {
  return !defers_ || questions * model_->what_if->run().durations.size() <= kTasksAtOnce;
}

const WhatIfAnswer& CountedFigures::what_if(const Changes& changes) const {
  return what_if_.soon(
      changes, [&] { return answers_quickly(1); },
      [&](const Changes& asked) { return answer_of(*model_->what_if, asked); });
}

const WhatIfTrials& CountedFigures::trials(const Changes& changes) const {
  return trials_.soon(
      changes, [&] { return answers_quickly(changes.size()); },
      [&](const Changes& asked) { return trials_of(*model_->what_if, asked); });
}

template <typename Value>
CountedFigures::Count CountedFigures::begin_answer(Counted<Changes, Value> CountedFigures::*into,
                                                   Value (*make)(const analyzer::WhatIfModel&,
                                                                 const Changes&)) {
  counts_ = true;
  return [into, make, key = *(this->*into).wanted(), model = model_,
          from = counts_from_]() -> std::function<void(CountedFigures&)> {
    auto value = std::make_shared<Value>(make(*model->what_if, key));
    return [into, key, model, from, value](CountedFigures& figures) {
      if (figures.model_ != model || figures.counts_from_ != from) return;
      figures.counts_ = false;
      (figures.*into).give(key, std::move(*value));
    };
  };
}

template <typename Key, typename Value>
CountedFigures::Count CountedFigures::begin_count(Counted<Key, Value> CountedFigures::*into,
                                                  Value (*make)(const RunEvents&, const Key&)) {
  counts_ = true;
  return [into, make, key = *(this->*into).wanted(), model = model_, from = counts_from_,
          events = events_of(*model_)]() -> std::function<void(CountedFigures&)> {
    auto value = std::make_shared<Value>(make(events, key));
    return [into, key, model, from, value](CountedFigures& figures) {
      if (figures.model_ != model || figures.counts_from_ != from) return;
      figures.counts_ = false;
      (figures.*into).give(key, std::move(*value));
    };
  };
}

std::optional<CountedFigures::Count> CountedFigures::next_count() {
  if (counts_) return std::nullopt;
  if (events_.wanted()) return begin_count(&CountedFigures::events_, &list_events);
  if (flame_.wanted()) return begin_count(&CountedFigures::flame_, &flame_for);
  if (durations_.wanted()) return begin_count(&CountedFigures::durations_, &durations_for);
  if (what_if_.wanted()) return begin_answer(&CountedFigures::what_if_, &answer_of);
  if (trials_.wanted()) return begin_answer(&CountedFigures::trials_, &trials_of);
  if (marks_.wanted()) return begin_count(&CountedFigures::marks_, &marks_of);
  return std::nullopt;
}

}  // namespace dprof::view
