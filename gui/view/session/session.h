// SPDX-License-Identifier: Apache-2.0
// One open run and how it is looked at: visible range, rows, selection, history. Every command of
// keyboard and mouse is one call here; widgets only pass events in and paint what comes out.
//
// Threading  the user interface's thread only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/lanes/related.h"
#include "base/result.h"
#include "gui/view/drawing/draw_list.h"
#include "gui/view/drawing/time_scale.h"
#include "gui/view/figures/durations.h"
#include "gui/view/figures/event_list.h"
#include "gui/view/figures/flame.h"
#include "gui/view/figures/named_marks.h"
#include "gui/view/figures/what_if_controls.h"
#include "gui/view/model/layout.h"
#include "gui/view/model/model.h"
#include "gui/view/model/saved_view.h"
#include "gui/view/model/selection.h"
#include "gui/view/model/sql_console.h"
#include "gui/view/model/under_mouse.h"
#include "gui/view/session/counted_figures.h"
#include "gui/view/session/dock.h"
#include "gui/view/session/event_flow.h"
#include "gui/view/session/history.h"
#include "gui/view/session/page.h"
#include "gui/view/session/page_figures.h"
#include "gui/view/session/tracks.h"

namespace dprof::view {

class Session {
 public:
  // Shows the run as it opens: about three steady steps, the dearest finding selected.
  void open(std::shared_ptr<const Model> model);
  // The same run, read again: what is looked at stays, unless it is still as it was opened.
  void renew(std::shared_ptr<const Model> model);
  // How it is looked at, and back to that: what this run does not have is passed over.
  [[nodiscard]] SavedView saved_view() const;
  void restore(const SavedView& view);
  [[nodiscard]] bool is_as_opened() const;

  // Rank indexes whose events are to be seen: chosen, unfolded, pinned; the most important first.
  [[nodiscard]] std::vector<size_t> looked_at() const;
  // A rank's events have come, or are given up.
  void take_events(size_t rank_index, SharedEvents events);

  [[nodiscard]] bool is_open() const { return model_ != nullptr; }
  [[nodiscard]] const Model& model() const { return *model_; }
  [[nodiscard]] std::shared_ptr<const Model> shared_model() const { return model_; }
  [[nodiscard]] Interval range() const { return range_; }
  [[nodiscard]] TimeScale scale() const { return {range_, width_}; }
  [[nodiscard]] const Selection& selection() const { return selection_; }
  // Its rows; what pages beside the timeline show; what the selected event led to.
  [[nodiscard]] const Tracks& tracks() const { return tracks_; }
  [[nodiscard]] Tracks& tracks() { return tracks_; }
  [[nodiscard]] const PageFigures& pages() const { return pages_; }
  [[nodiscard]] PageFigures& pages() { return pages_; }
  [[nodiscard]] const CountedFigures& counted() const { return counted_; }
  [[nodiscard]] CountedFigures& counted() { return counted_; }
  // Size of the area that shows rows, in pixels.
  void set_viewport(int width, int height);

  // The visible range.
  void zoom(int pixel, int numerator, int denominator);
  void pan(int pixels);
  void show(Interval range);
  void show_all() { show(whole()); }
  // To the range, page and filter before; consecutive zooms and pans are one step, so are changes
  // of the filter.
  void back();
  void forward();
  // Brings what is selected into view; if it is in view already, fits it.
  void focus();
  void go_to_start();
  void go_to_end();
  [[nodiscard]] Interval whole() const;

  [[nodiscard]] Page page() const { return page_; }
  void show_page(Page page);

  // The docks around the page: which was shown last, and what they show of the selection. Made when
  // it is first asked for, and again when the selection has changed: O(events selected).
  [[nodiscard]] Dock dock() const { return dock_; }
  void show_dock(Dock dock) { dock_ = dock; }
  [[nodiscard]] EventOrder event_order() const { return event_order_; }
  void show_event_order(EventOrder order) { event_order_ = order; }
  [[nodiscard]] FlameOrder flame_order() const { return flame_order_; }
  void show_flame_order(FlameOrder order) { flame_order_ = order; }
  [[nodiscard]] EventQuery event_query() const;
  [[nodiscard]] const EventList& events() const;
  [[nodiscard]] const EventList& events_now() const;  // however long it takes
  [[nodiscard]] const FlameTree& flame() const;
  // Whose durations the histogram shows: the chosen name's, else the chosen event's; "" = none.
  [[nodiscard]] std::string histogram_name() const;
  // Over the whole run, unless a range was chosen by hand.
  [[nodiscard]] const Durations& durations() const;

  // Where the events of the chosen name and durations are, of the ranks whose threads are shown.
  // Empty where none is chosen.
  [[nodiscard]] const NamedMarks& named_marks() const;

  // Whether a dock shows an answer to a former question.
  [[nodiscard]] bool is_counting(Dock dock) const;

  // The dock SQL: what is asked, and tracks made from results.
  [[nodiscard]] const SqlConsole& sql() const { return sql_; }
  [[nodiscard]] SqlConsole& sql() { return sql_; }
  [[nodiscard]] std::vector<analyzer::TraceFile> traces_to_ask() const;
  // Shows what a line of the result is about: the row that it names, else its time, else its rank.
  // With a column the row that this cell names.
  void choose_result_line(size_t line, std::optional<size_t> column = {});
  bool next_result_line(int by);
  // Shows the result beside the events of its ranks; kUsage where it has no times.
  Status make_result_track();
  [[nodiscard]] bool has_result_track() const;  // of the result that the dock shows
  void remove_result_track();
  // That which is selected, else all.
  void remove_result_tracks();

  // Rows.
  void toggle_selected();
  void set_filter(std::string filter);
  // The thread or stream that was chosen, else that of the chosen event, else the chosen ranks.
  [[nodiscard]] std::vector<std::string> selected_tracks() const;
  // The like of it on all ranks: "rank:*/stream:7".
  [[nodiscard]] std::string pattern_of_selected() const;
  // The ranks of the selected collective's communicator.
  [[nodiscard]] std::vector<std::string> tracks_of_communicator() const;
  // In the order of their times.
  [[nodiscard]] const std::vector<Note>& notes() const { return notes_; }
  void add_note(Interval at, std::string text);
  void remove_note(size_t index);
  void show_note(size_t index);

  // The critical path over the timeline.
  [[nodiscard]] bool is_path_shown() const { return path_shown_; }
  void show_path(bool shown) { path_shown_ = shown; }
  // The chosen step, else that in the middle of what is visible, where it has a path: an index into
  // RunPath::steps.
  [[nodiscard]] std::optional<size_t> path_step() const;
  // Why is this step long? Shows it, its path, and what of that is longer than usual.
  // Of this step, else of that one.
  Status explain_step(std::optional<int64_t> step = {});
  void show_jump(size_t index);

  // The page What if: changes of the run, as `dprof report --what-if` takes them.
  [[nodiscard]] const std::vector<std::string>& changes() const { return changes_; }
  void change(std::vector<std::string> changes) { changes_ = std::move(changes); }
  // Instead of what of these is among them; "" = none of them any more.
  void change(const std::vector<WhatIfStop>& instead_of, const std::string& change);
  [[nodiscard]] const std::vector<WhatIfControl>& controls() const;
  // Of the changes; nullptr = there are none, or nothing can be asked.
  [[nodiscard]] const WhatIfAnswer* answer() const;
  // Of each control's largest change.
  [[nodiscard]] const WhatIfTrials& trials() const;
  [[nodiscard]] std::string command_line() const;
  // What is to be put onto the clipboard, once.
  void copy(std::string text) { copied_ = std::move(text); }
  [[nodiscard]] std::string take_copied() { return std::exchange(copied_, {}); }

  // A length that is being measured; no part of the selection.
  [[nodiscard]] const std::optional<Interval>& measured() const { return measured_; }
  void measure(std::optional<Interval> range) { measured_ = range; }

  // The selection. select() understands selectors, and moves the view to what it selected. With
  // `keep`, ranks, rows and collectives are added to what is selected.
  Status select(std::string_view selector, bool keep = false);
  void select_finding(size_t index);
  void select_rank(int rank);
  void select_step(int64_t step);
  // On the timeline the collective that never completed; what hangs in messages, who is missing.
  void select_hang();
  void select_collective(uint32_t index);
  // Both, with the collective or message that counts most between them.
  void select_pair(analyzer::RankPair pair);
  // One rank in one step.
  void select_cell(int rank, int64_t step);
  void select_range(std::optional<Interval> range);
  // What else is selected stays, so that a list of events does not change below the mouse.
  void select_event(const SlicePlace& place);
  // All events whose name matches a pattern; "" = no longer any.
  void select_name(std::string pattern);
  // Of the events that the histogram is about those that take so long; nullopt = no matter how
  // long.
  void select_durations(std::optional<DurationRange> durations);
  void clear_selection();
  void click(const Hit& hit);
  // False if there is none in that direction.
  bool next_finding(int by);
  bool next_step(int by);
  // Along the selected collective's members in the order of their arrival.
  bool next_arrival(int by);
  // What the selected event led to or came from, as it was asked for from the trace: of more than
  // kMostInFlow rows the first. The collective among them is selected, too.
  void show_flow(const SlicePlace& of, const std::vector<analyzer::RelatedRow>& rows);
  // With the selected event and the other sides of its messages, by time; empty = it has none.
  [[nodiscard]] std::vector<SlicePlace> flow() const;
  // Of the flow.
  [[nodiscard]] std::vector<ShownMessage> messages() const;
  [[nodiscard]] bool is_flow_cut() const { return is_in_flow() && flow_.is_cut(); }
  // Along the flow of the selected event.
  bool next_in_flow(int by);
  // To a neighbouring slice of the selected one's lane.
  bool next_slice(int by);
  // To the event around the selected one (by < 0), or the first one within it.
  bool next_depth(int by);
  // To the next event whose name matches, from the selected one or the visible range on.
  bool next_named(std::string_view pattern, int by);

  // What the selection is about: the chosen range or step, else what is visible.
  [[nodiscard]] Interval selected_range() const;

 private:
  void set_range(Interval range);
  void remember(History::Move move) { history_.remember(looked(), move); }
  void look_at(const Looked& looked);
  [[nodiscard]] Looked looked() const { return {range_, page_, tracks_.arrangement().filter}; }
  void forget_all();
  [[nodiscard]] bool is_in_flow() const { return flow_.holds(selection_.slice); }
  void apply_all(const std::vector<std::string>& selectors);
  void forget_results(const std::function<bool(const ResultLanes&)>& matches);
  void show_steps_around(int64_t step);
  // The finding stays chosen while one of its own ranks is.
  void choose_rank(int rank);
  void unfold_selected();  // its ranks, and scrolls to them
  void show_slice();       // the selected one, where it is out of view
  void choose_collective(int64_t step);
  [[nodiscard]] std::optional<Interval> extent_of_selection() const;

  std::shared_ptr<const Model> model_;
  Interval range_;
  int width_ = 1000;
  Page page_ = Page::kTimeline;
  History history_;
  Tracks tracks_;
  Selection selection_;
  EventFlow flow_;
  std::vector<Note> notes_;
  std::optional<Interval> measured_;
  PageFigures pages_;
  Dock dock_ = Dock::kSelection;
  EventOrder event_order_ = EventOrder::kByTime;
  FlameOrder flame_order_ = FlameOrder::kTopDown;
  CountedFigures counted_;
  SqlConsole sql_;
  bool path_shown_ = false;
  std::vector<std::string> changes_;
  mutable Kept<std::vector<int>, std::vector<WhatIfControl>> controls_;
  std::string copied_;
  SavedView opened_;  // right after opening
};

}  // namespace dprof::view
