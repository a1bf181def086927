// SPDX-License-Identifier: Apache-2.0
// What is selected, and how the view follows it.
//
// Threading  the user interface's thread only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "gui/view/figures/pair_map.h"
#include "gui/view/model/model.h"
#include "gui/view/model/selection.h"
#include "gui/view/model/under_mouse.h"
#include "gui/view/session/tracks.h"
#include "gui/view/session/viewport.h"

namespace dprof::view {

class Selecting {
 public:
  Selecting(const SharedModel& model, Tracks& tracks, Viewport& viewport)
      : model_(model), tracks_(tracks), viewport_(viewport) {}

  [[nodiscard]] const Selection& selection() const { return selection_; }
  // What it is about: the chosen range or step, else what is visible.
  [[nodiscard]] Interval range() const;
  // The chosen name, else the chosen event's; "" = none.
  [[nodiscard]] std::string name() const;

  // That alone, and nothing is moved.
  void set(Selection selection) { selection_ = std::move(selection); }
  void clear() { selection_ = {}; }
  // Understands selectors, and moves the view to what it selected. With `keep`, ranks, rows and
  // collectives are added to what is selected.
  Status select(std::string_view selector, bool keep = false);
  void select_finding(size_t index);
  void select_rank(int rank);
  void select_step(int64_t step);
  // On the timeline the second in which the run failed: the collective that never completed, with
  // who is missing; else who failed first.
  void select_failure();
  void select_collective(uint32_t index);
  // Both, with the collective or message that counts most between them.
  void select_pair(const PairChoice& choice, analyzer::RankPair pair);
  // One rank in one step.
  void select_cell(int rank, int64_t step);
  void select_range(std::optional<Interval> range);
  // What else is selected stays, so that a list of events does not change below the mouse.
  void select_event(const SlicePlace& place);
  // To another event of the same lane or thread.
  void select_slice(const SlicePlace& place);
  // All events whose name matches a pattern; "" = no longer any.
  void select_name(std::string pattern);
  // Of the events that the histogram is about those that take so long; nullopt = no matter how
  // long.
  void select_durations(std::optional<DurationRange> durations);
  void click(const Hit& hit);
  // Brings what is selected into view; if it is in view already, fits it.
  void focus();
  void show_slice();  // the selected one, where it is out of view

 private:
  void show_steps_around(int64_t step);
  // The finding stays chosen while one of its own ranks is.
  void choose_rank(int rank);
  void choose_collective(int64_t step);
  void unfold_selected();  // its ranks, and scrolls to them
  [[nodiscard]] std::optional<Interval> extent_of_selection() const;

  const SharedModel& model_;
  Tracks& tracks_;
  Viewport& viewport_;
  Selection selection_;
};

}  // namespace dprof::view
