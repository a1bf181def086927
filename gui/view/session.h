// SPDX-License-Identifier: Apache-2.0
// One open run and how it is looked at: visible range, rows, selection, history. Every command of
// keyboard and mouse is one call here; widgets only pass events in and paint what comes out.
//
// Threading  the user interface's thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/compare/compare.h"
#include "base/result.h"
#include "gui/view/docks/dock.h"
#include "gui/view/docks/durations.h"
#include "gui/view/docks/event_list.h"
#include "gui/view/docks/flame.h"
#include "gui/view/draw_list.h"
#include "gui/view/hit_test.h"
#include "gui/view/kept.h"
#include "gui/view/layout.h"
#include "gui/view/model.h"
#include "gui/view/pages/collective_lines.h"
#include "gui/view/pages/page.h"
#include "gui/view/pages/step_matrix.h"
#include "gui/view/selection.h"
#include "gui/view/time_scale.h"

namespace dprof::view {

struct Hover {
  Point at;  // in the rows' area
  std::optional<SlicePlace> slice;
  std::optional<uint32_t> piece;
  int rank_index = -1;
  uint32_t folded = 0;
};

struct ComparedRuns {
  std::string other_name;
  analyzer::RunComparison comparison;
};

class Session {
 public:
  // Shows the run as it opens: about three steady steps, the dearest finding selected.
  void open(std::shared_ptr<const Model> model);

  [[nodiscard]] bool is_open() const { return model_ != nullptr; }
  [[nodiscard]] const Model& model() const { return *model_; }
  [[nodiscard]] std::shared_ptr<const Model> shared_model() const { return model_; }
  [[nodiscard]] Interval range() const { return range_; }
  [[nodiscard]] TimeScale scale() const { return {range_, width_}; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const Folds& folds() const { return folds_; }
  [[nodiscard]] const Selection& selection() const { return selection_; }
  [[nodiscard]] const std::optional<Hover>& hover() const { return hover_; }
  [[nodiscard]] int scroll() const { return scroll_; }
  // Size of the area that shows rows, in pixels.
  void set_viewport(int width, int height);

  // The visible range.
  void zoom(int pixel, int numerator, int denominator);
  void pan(int pixels);
  void show(Interval range);
  void show_all() { show(whole()); }
  void back();
  void forward();
  // Brings what is selected into view; if it is in view already, fits it.
  void focus();
  void go_to_start();
  void go_to_end();
  [[nodiscard]] Interval whole() const;

  // Which page is shown, and what Ranks × steps shows.
  [[nodiscard]] Page page() const { return page_; }
  void show_page(Page page) { page_ = page; }
  void show_metric(Metric metric);
  void show_order(RankOrder order);
  [[nodiscard]] RankOrder rank_order() const { return order_; }
  // Made when it is first asked for: O(pieces).
  [[nodiscard]] const StepMatrix& matrix() const;
  // What Collectives shows: positions in Model::collectives. Made likewise: O(n log n).
  [[nodiscard]] const std::vector<uint32_t>& collective_lines() const;
  [[nodiscard]] CollectiveOrder collective_order() const { return collective_order_; }
  void show_collective_order(CollectiveOrder order);

  // The docks below the page: which is shown, and what they show of the selection. Made when it is
  // first asked for, and again when the selection has changed: O(events selected).
  [[nodiscard]] Dock dock() const { return dock_; }
  void show_dock(Dock dock) { dock_ = dock; }
  [[nodiscard]] EventOrder event_order() const { return event_order_; }
  void show_event_order(EventOrder order) { event_order_ = order; }
  [[nodiscard]] FlameOrder flame_order() const { return flame_order_; }
  void show_flame_order(FlameOrder order) { flame_order_ = order; }
  [[nodiscard]] EventQuery event_query() const;
  [[nodiscard]] const EventList& events() const;
  [[nodiscard]] const FlameTree& flame() const;
  // Whose durations the histogram shows: the chosen name's, else the chosen event's; "" = none.
  [[nodiscard]] std::string histogram_name() const;
  // Over the whole run, unless a range was chosen by hand.
  [[nodiscard]] const Durations& durations() const;

  // The other run that Compare shows beside this one; nullptr = none.
  [[nodiscard]] const ComparedRuns* comparison() const { return comparison_.get(); }
  void show_comparison(std::shared_ptr<const ComparedRuns> runs) { comparison_ = std::move(runs); }

  // Rows.
  void scroll_by(int pixels);
  void scroll_to(const Row& row);
  void toggle(const Row& row);
  void toggle_selected();
  void set_filter(std::string filter);

  // The selection. select() understands selectors, and moves the view to what it selected. With
  // `keep`, ranks, rows and collectives are added to what is selected.
  Status select(std::string_view selector, bool keep = false);
  void select_finding(size_t index);
  void select_rank(int rank);
  void select_step(int64_t step);
  void select_collective(uint32_t index);
  // One rank in one step.
  void select_cell(int rank, int64_t step);
  void select_range(std::optional<Interval> range);
  // What else is selected stays, so that a list of events does not change below the mouse.
  void select_event(const SlicePlace& place);
  // All events whose name matches a pattern; "" = no longer any.
  void select_name(std::string pattern) { selection_.name = std::move(pattern); }
  void clear_selection();
  void click(const Hit& hit);
  // False if there is none in that direction.
  bool next_finding(int by);
  bool next_step(int by);
  // Along the selected collective's members in the order of their arrival.
  bool next_arrival(int by);
  // To a neighbouring slice of the selected one's lane.
  bool next_slice(int by);
  // To the next event whose name matches, from the selected one or the visible range on.
  bool next_named(std::string_view pattern, int by);

  void set_hover(std::optional<Hover> hover) { hover_ = std::move(hover); }

  // What the selection is about: the chosen range or step, else what is visible.
  [[nodiscard]] Interval selected_range() const;

 private:
  void set_range(Interval range);
  void remember(bool continuous);
  void relayout();
  void unfold_what_fits();
  void show_steps_around(int64_t step);
  // The finding stays chosen while one of its own ranks is.
  void choose_rank(int rank);
  void unfold_selected();  // its ranks, and scrolls to them
  void show_slice();       // the selected one, where it is out of view
  void choose_collective(int64_t step);
  [[nodiscard]] std::optional<int64_t> typical_step(const analyzer::Finding* finding) const;
  [[nodiscard]] std::optional<Interval> extent_of_selection() const;
  [[nodiscard]] int64_t step_at(TraceNs time) const;
  void keep_scroll_inside();

  std::shared_ptr<const Model> model_;
  std::shared_ptr<const ComparedRuns> comparison_;
  Interval range_;
  int width_ = 1000;
  int height_ = 500;
  int scroll_ = 0;
  Folds folds_;
  Layout layout_;
  Selection selection_;
  std::optional<Hover> hover_;
  std::vector<Interval> back_;
  std::vector<Interval> forward_;
  Page page_ = Page::kTimeline;
  Metric metric_ = Metric::kOwnDelay;
  RankOrder order_ = RankOrder::kByRank;
  mutable std::optional<StepMatrix> matrix_;
  CollectiveOrder collective_order_ = CollectiveOrder::kByTime;
  mutable std::optional<std::vector<uint32_t>> collective_lines_;
  Dock dock_ = Dock::kSelection;
  EventOrder event_order_ = EventOrder::kByTime;
  FlameOrder flame_order_ = FlameOrder::kTopDown;
  mutable Kept<EventQuery, EventList> events_;
  mutable Kept<std::pair<EventQuery, FlameOrder>, FlameTree> flame_;
  mutable Kept<EventQuery, Durations> durations_;
  bool zooming_ = false;  // consecutive zooms and pans are one step of history
};

}  // namespace dprof::view
