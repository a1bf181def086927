// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/event_figures.h"

namespace dprof::view {

void EventFigures::open() {
  order_ = EventOrder::kByTime;
  flame_order_ = FlameOrder::kTopDown;
}

EventQuery EventFigures::query() const {
  const Selection& selection = selecting_.selection();
  return {selection.ranks, selecting_.range(), selection.name, selection.durations, order_};
}

const EventList& EventFigures::list() const { return counted_.events(query()); }

const EventList& EventFigures::list_now() const { return counted_.events_now(query()); }

const FlameTree& EventFigures::flame() const {
  EventQuery asked = query();
  // A stack is identified by all its names.
  asked.name = flame_order_ == FlameOrder::kSandwich ? selecting_.name() : std::string();
  asked.durations.reset();
  asked.order = EventOrder::kByTime;
  return counted_.flame({std::move(asked), flame_order_});
}

const Durations& EventFigures::durations() const {
  const Selection& selection = selecting_.selection();
  return counted_.durations(
      {selection.ranks, selection.range.value_or(model_->span), selecting_.name(), {}});
}

const NamedMarks& EventFigures::marks() const {
  static const NamedMarks kNone;
  const Selection& selection = selecting_.selection();
  if (selection.name.empty()) return kNone;
  const TimeScale scale = viewport_.scale();
  MarkQuery asked{{{}, scale.range(), selection.name, selection.durations},
                  {scale.range().length().ns / scale.width()}};
  std::vector<int>& ranks = asked.events.ranks;
  for (const Row& row : tracks_.layout().rows) {
    if (row.kind != RowKind::kThread) continue;
    const int rank = model_->ranks[static_cast<size_t>(row.rank_index)].rank;
    if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
  }
  return ranks.empty() ? kNone : counted_.marks(asked);
}

}  // namespace dprof::view
