// SPDX-License-Identifier: Apache-2.0
// The selection, and how the view follows it.
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
  // The range that the selection covers: the chosen range or step, else what is visible.
  [[nodiscard]] Interval range() const;
  // The chosen name, else the chosen event's; "" = none.
  [[nodiscard]] std::string name() const;

  // Only sets the selection; the view does not move.
  void set(Selection selection) { selection_ = std::move(selection); }
  void clear() { selection_ = {}; }
  // Parses selectors, and moves the view to the selection. With `keep`, ranks, rows and collectives
  // are added to the selection.
  Status select(std::string_view selector, bool keep = false);
  void select_finding(size_t index);
  void select_rank(int rank);
  void select_step(int64_t step);
  // Shows on the timeline the second in which the run failed: the collective that never completed,
  // with the missing ranks; else the first rank to fail.
  void select_failure();
  void select_collective(uint32_t index);
  // Both ranks, with the collective or message that counts most between them.
  void select_pair(const PairChoice& choice, analyzer::RankPair pair);
  // One rank in one step.
  void select_cell(int rank, int64_t step);
  void select_range(std::optional<Interval> range);
  // Keeps the rest of the selection, so that a list of events does not change below the mouse.
  void select_event(const SlicePlace& place);
  // Moves to another event of the same lane or thread.
  void select_slice(const SlicePlace& place);
  // All events whose name matches a pattern; "" = none any more.
  void select_name(std::string pattern);
  // Those of the histogram's events with such durations; nullopt = any duration.
  void select_durations(std::optional<DurationRange> durations);
  void click(const Hit& hit);
  // Brings the selection into view; if it is already in view, fits it.
  void focus();
  void show_slice();  // the selected one, if it is out of view

 private:
  void show_steps_around(int64_t step);
  // The finding stays selected if the rank is one of its own.
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
