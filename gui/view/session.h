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

#include "analyzer/compare/compare.h"
#include "analyzer/related.h"
#include "base/result.h"
#include "gui/view/counted.h"
#include "gui/view/docks/dock.h"
#include "gui/view/docks/durations.h"
#include "gui/view/docks/event_list.h"
#include "gui/view/docks/flame.h"
#include "gui/view/draw_list.h"
#include "gui/view/hit_test.h"
#include "gui/view/kept.h"
#include "gui/view/layout.h"
#include "gui/view/model.h"
#include "gui/view/named_marks.h"
#include "gui/view/pages/collective_lines.h"
#include "gui/view/pages/page.h"
#include "gui/view/pages/pair_map.h"
#include "gui/view/pages/step_matrix.h"
#include "gui/view/saved_view.h"
#include "gui/view/selection.h"
#include "gui/view/sql_console.h"
#include "gui/view/time_scale.h"

namespace dprof::view {

struct Hover {
  Point at;  // in the rows' area
  std::optional<SlicePlace> slice;
  std::optional<uint32_t> piece;
  int rank_index = -1;
  uint32_t folded = 0;
  int memory = -1;  // into RankModel::memory
};

// Where a rank that is dragged would come to stand.
struct RankDrop {
  int rank = 0;
  int by = 0;  // places down (or up, where negative) among those of its host
  int y = 0;   // between which rows, in the layout
};

inline constexpr size_t kMostInFlow = 20;  // each is looked for among all events

// A message that the selected event is a side of. Its ends have a place where events are loaded.
struct ShownMessage {
  uint32_t message = 0;  // into Model::messages
  std::optional<SlicePlace> send;
  std::optional<SlicePlace> receive;
};

struct ComparedRuns {
  std::string other_name;
  analyzer::RunComparison comparison;
};

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
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const Arrangement& arrangement() const { return arrangement_; }
  [[nodiscard]] const Selection& selection() const { return selection_; }
  [[nodiscard]] const std::optional<Hover>& hover() const { return hover_; }
  [[nodiscard]] int scroll() const { return scroll_; }
  // Where a row is in the area that shows rows, and what of the layout is at a height of that area:
  // pinned rows stay on top, the others scroll below them.
  [[nodiscard]] int y_of(const Row& row) const { return row.fixed ? row.y : row.y - scroll_; }
  [[nodiscard]] int layout_y(int y) const { return y < layout_.fixed_height ? y : y + scroll_; }
  // Whether at least a part of a row can be seen.
  [[nodiscard]] bool is_in_view(const Row& row) const;
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

  // Which page is shown, and what Ranks × steps shows.
  [[nodiscard]] Page page() const { return page_; }
  void show_page(Page page);
  void show_metric(Metric metric);
  void show_order(RankOrder order);
  [[nodiscard]] RankOrder rank_order() const { return order_; }
  // Made when it is first asked for: O(pieces).
  [[nodiscard]] const StepMatrix& matrix() const;
  // What Collectives shows: positions in Model::collectives. Made likewise: O(n log n).
  [[nodiscard]] const std::vector<uint32_t>& collective_lines() const;
  [[nodiscard]] CollectiveOrder collective_order() const { return collective_order_; }
  void show_collective_order(CollectiveOrder order);
  // Of one kind only; nullopt = all.
  [[nodiscard]] const std::optional<CollectiveKind>& collective_kind() const {
    return collective_kind_;
  }
  void show_collective_kind(std::optional<CollectiveKind> kind);
  // Or one line for each kind. Made likewise.
  [[nodiscard]] bool are_collectives_grouped() const { return collectives_grouped_; }
  void group_collectives();
  [[nodiscard]] const std::vector<CollectiveGroup>& collective_groups() const;
  // What Matrix shows. Made likewise: O(pairs log pairs).
  [[nodiscard]] const PairChoice& pair_choice() const { return pair_choice_; }
  void show_pairs(PairChoice choice) { pair_choice_ = std::move(choice); }
  [[nodiscard]] const PairMap& pairs() const;

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

  // Docks of many events show what they showed before, until it is counted elsewhere what they are
  // to show: a frame does not wait for it.
  void defer_counting() { defers_counting_ = true; }
  // Whether a dock shows an answer to a former question.
  [[nodiscard]] bool is_counting(Dock dock) const;
  // To be called on any thread; what it returns, here.
  using Count = std::function<std::function<void(Session&)>()>;
  // What is to be counted now; nullopt = nothing, or the former is not done yet.
  [[nodiscard]] std::optional<Count> next_count();

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

  // The other run that Compare shows beside this one; nullptr = none.
  [[nodiscard]] const ComparedRuns* comparison() const { return comparison_.get(); }
  void show_comparison(std::shared_ptr<const ComparedRuns> runs) { comparison_ = std::move(runs); }

  // Rows.
  void scroll_by(int pixels);
  void scroll_to(const Row& row);
  void toggle(const Row& row);
  void toggle_selected();
  void set_filter(std::string filter);
  // The thread or stream that was chosen, else that of the chosen event, else the chosen ranks.
  [[nodiscard]] std::vector<std::string> selected_tracks() const;
  // The like of it on all ranks: "rank:*/stream:7".
  [[nodiscard]] std::string pattern_of_selected() const;
  // The ranks of the selected collective's communicator.
  [[nodiscard]] std::vector<std::string> tracks_of_communicator() const;
  // Tracks that match are shown on top, too; pinning all the same ones again unpins them.
  void pin(const std::vector<std::string>& patterns);
  void hide(const std::vector<std::string>& tracks);
  void show_hidden();
  // Up (by < 0) or down among those of its host.
  void move_rank(int rank, int by);
  // A rank is held at a height of the rows' area; drop_rank() moves it to where it is held then.
  void drag_rank(int rank, int y);
  [[nodiscard]] const std::optional<RankDrop>& rank_drop() const { return rank_drop_; }
  void drop_rank();
  void cancel_drag() { rank_drop_.reset(); }

  // In the order of their times.
  [[nodiscard]] const std::vector<Note>& notes() const { return notes_; }
  void add_note(Interval at, std::string text);
  void remove_note(size_t index);
  void show_note(size_t index);

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
  [[nodiscard]] bool is_flow_cut() const { return is_in_flow() && flow_cut_; }
  // Along the flow of the selected event.
  bool next_in_flow(int by);
  // To a neighbouring slice of the selected one's lane.
  bool next_slice(int by);
  // To the event around the selected one (by < 0), or the first one within it.
  bool next_depth(int by);
  // To the next event whose name matches, from the selected one or the visible range on.
  bool next_named(std::string_view pattern, int by);

  void set_hover(std::optional<Hover> hover) { hover_ = std::move(hover); }

  // What the selection is about: the chosen range or step, else what is visible.
  [[nodiscard]] Interval selected_range() const;

 private:
  // What the history leads back to.
  struct Looked {
    Interval range;
    Page page;
    std::string filter;
  };
  enum class Moving : uint8_t { kNo, kZoom, kFilter };
  void set_range(Interval range);
  void remember(Moving moving);
  void look_at(const Looked& looked);
  [[nodiscard]] Looked looked() const { return {range_, page_, arrangement_.filter}; }
  void relayout();
  void fix_pinned();
  [[nodiscard]] std::vector<const Row*> rows_beside(int rank) const;
  void forget_all();
  void forget_events();
  [[nodiscard]] bool is_quick(const EventQuery& query) const;
  [[nodiscard]] EventQuery durations_query() const;
  template <typename Key, typename Value>
  Count begin_count(Counted<Key, Value> Session::*into,
                    Value (*make)(const RunEvents& events, const Key& key));
  void forget_flow();
  void find_message_ends();
  [[nodiscard]] bool is_in_flow() const;
  [[nodiscard]] std::optional<uint32_t> hung_collective() const;
  void apply_all(const std::vector<std::string>& selectors);
  void remove_results(const std::function<bool(const ResultLanes&)>& matches);
  void take_over_results(const Model& former);
  void unfold_what_fits();
  void show_steps_around(int64_t step);
  // The finding stays chosen while one of its own ranks is.
  void choose_rank(int rank);
  void unfold_selected();  // its ranks, and scrolls to them
  void scroll_to_rank(int rank);
  void show_slice();  // the selected one, where it is out of view
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
  Arrangement arrangement_;
  std::vector<Note> notes_;
  std::optional<Interval> measured_;
  std::optional<RankDrop> rank_drop_;
  std::vector<SlicePlace> flow_;  // empty, or with the event that it was asked for
  std::vector<ShownMessage> messages_;
  bool flow_cut_ = false;
  SavedView opened_;  // right after opening
  Layout layout_;
  Selection selection_;
  std::optional<Hover> hover_;
  std::vector<Looked> back_;
  std::vector<Looked> forward_;
  Page page_ = Page::kTimeline;
  Metric metric_ = Metric::kOwnDelay;
  RankOrder order_ = RankOrder::kByRank;
  mutable std::optional<StepMatrix> matrix_;
  CollectiveOrder collective_order_ = CollectiveOrder::kByTime;
  std::optional<CollectiveKind> collective_kind_;
  bool collectives_grouped_ = false;
  mutable std::optional<std::vector<CollectiveGroup>> collective_groups_;
  mutable std::optional<std::vector<uint32_t>> collective_lines_;
  PairChoice pair_choice_;
  mutable Kept<PairChoice, PairMap> pairs_;
  Dock dock_ = Dock::kSelection;
  EventOrder event_order_ = EventOrder::kByTime;
  FlameOrder flame_order_ = FlameOrder::kTopDown;
  SqlConsole sql_;
  using FlameQuery = std::pair<EventQuery, FlameOrder>;
  mutable Counted<EventQuery, EventList> events_;
  mutable Counted<FlameQuery, FlameTree> flame_;
  mutable Counted<EventQuery, Durations> durations_;
  mutable Counted<MarkQuery, NamedMarks> marks_;
  bool defers_counting_ = false;
  bool counts_ = false;       // a count is under way
  uint64_t counts_from_ = 0;  // raised whenever counts under way have become worthless
  Moving moving_ = Moving::kNo;
};

}  // namespace dprof::view
