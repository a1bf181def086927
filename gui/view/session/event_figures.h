// SPDX-License-Identifier: Apache-2.0
// The figures of the selected events: a list, stacks, durations, marks. Computed
// on first use, and again when the selection has changed: O(events selected).
//
// Threading  the user interface's thread only.
#pragma once

#include "gui/view/session/counted_figures.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

class EventFigures {
 public:
  EventFigures(const SharedModel& model, const Tracks& tracks, const Viewport& viewport,
               const Selecting& selecting, const CountedFigures& counted)
      : model_(model),
        tracks_(tracks),
        viewport_(viewport),
        selecting_(selecting),
        counted_(counted) {}

  // Another run: resets the orders to their defaults.
  void open();

  [[nodiscard]] EventQuery query() const;
  [[nodiscard]] EventOrder order() const { return order_; }
  void show_order(EventOrder order) { order_ = order; }
  [[nodiscard]] const EventList& list() const;
  [[nodiscard]] const EventList& list_now() const;  // however long it takes
  [[nodiscard]] FlameOrder flame_order() const { return flame_order_; }
  void show_flame_order(FlameOrder order) { flame_order_ = order; }
  [[nodiscard]] const FlameTree& flame() const;
  // For the selection's name, over the whole run unless a range was chosen by hand.
  [[nodiscard]] const Durations& durations() const;
  // Positions of the events with the chosen name and durations, on the ranks whose threads are
  // shown. Empty if none is chosen.
  [[nodiscard]] const NamedMarks& marks() const;

  // True if a previous result is shown.
  [[nodiscard]] bool is_counting_list() const { return counted_.is_counting_events(); }
  [[nodiscard]] bool is_counting_flame() const { return counted_.is_counting_flame(); }
  [[nodiscard]] bool is_counting_durations() const { return counted_.is_counting_durations(); }

 private:
  const SharedModel& model_;
  const Tracks& tracks_;
  const Viewport& viewport_;
  const Selecting& selecting_;
  const CountedFigures& counted_;
  EventOrder order_ = EventOrder::kByTime;
  FlameOrder flame_order_ = FlameOrder::kTopDown;
};

}  // namespace dprof::view
