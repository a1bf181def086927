// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "gui/view/drawing/texts.h"
#include "gui/view/figures/collective_times.h"
#include "gui/view/model/result_track.h"
#include "gui/view/session/landmarks.h"
#include "gui/view/session/result_tracks.h"

namespace dprof::view {
namespace {

constexpr size_t kManyRanks = 16;  // more of them are seen on Ranks × steps first

}  // namespace

// --- what is open ---

void Session::open(std::shared_ptr<const Model> model) {
  model_ = std::move(model);
  forget_all();
  pages_.open(model_);
  page_ = model_->ranks.size() > kManyRanks ? Page::kHeatmap : Page::kTimeline;
  selection_ = {};
  notes_.clear();
  sql_ = {};
  path_shown_ = false;
  changes_.clear();
  for (const RankModel& rank : model_->ranks) rank.results.clear();
  history_.forget();
  range_ = whole();
  tracks_.scroll_to_top();
  tracks_.arrange({});
  if (!model_->findings().empty()) {
    select_finding(0);
  } else if (const std::optional<int64_t> step = typical_step(*model_, nullptr)) {
    select_step(*step);
  }
  tracks_.unfold_what_fits();
  if (hung_collective(*model_)) select_hang();  // a hung run opens there
  tracks_.scroll_to_top();
  if (!selection_.ranks.empty()) tracks_.scroll_to_rank(selection_.ranks.front());
  history_.forget_back();
  opened_ = saved_view();
}

// What was made from the model that was open before.
void Session::forget_all() {
  pages_.renew(model_);
  counted_.forget(model_);
  flow_.forget();
  controls_.forget();
  tracks_.show(model_);
}

void Session::renew(std::shared_ptr<const Model> model) {
  if (is_as_opened()) {
    open(std::move(model));
    return;
  }
  const std::vector<std::string> selectors = selectors_of(*model_, selection_);
  const std::shared_ptr<const Model> former = std::exchange(model_, std::move(model));
  if (former != model_) {
    sql_.grow_stale();
    take_over_results(*model_, *former);
  }
  forget_all();
  apply_all(selectors);
}

// What the run no longer has is passed over.
void Session::apply_all(const std::vector<std::string>& selectors) {
  selection_ = {};
  for (const std::string& text : selectors) {
    if (const Result<Selector> selector = parse_selector(text); selector.ok())
      (void)apply(*model_, *selector, selection_);
  }
}

bool Session::is_as_opened() const { return saved_view() == opened_; }

SavedView Session::saved_view() const {
  return {.range = range_,
          .page = std::string(info_of(page_).word),
          .dock = std::string(info_of(dock_).word),
          .arrangement = tracks_.arrangement(),
          .selectors = selectors_of(*model_, selection_),
          .notes = notes_,
          .query = sql_.text(),
          .queries = sql_.history(),
          .path = path_shown_};
}

void Session::restore(const SavedView& view) {
  if (const auto page = page_of(view.page)) page_ = *page;
  if (const auto dock = dock_of(view.dock)) dock_ = *dock;
  tracks_.arrange(view.arrangement);
  notes_ = view.notes;
  sql_.restore(view.query, view.queries);
  path_shown_ = view.path;
  apply_all(view.selectors);
  if (!view.range.empty()) show(view.range);
}

std::vector<size_t> Session::looked_at() const {
  std::vector<size_t> ranks;
  const auto add = [&](size_t rank_index) {
    if (std::ranges::find(ranks, rank_index) == ranks.end()) ranks.push_back(rank_index);
  };
  for (const int rank : selection_.ranks) {
    if (const auto index = model_->index_of_rank(rank)) add(*index);
  }
  for (const Row& row : tracks_.layout().rows) {
    if (row.kind == RowKind::kRank && !row.folded) add(static_cast<size_t>(row.rank_index));
  }
  for (const std::string& pattern : tracks_.arrangement().pinned) {
    if (pattern.find("/sql:") != std::string::npos) continue;  // needs no events
    const std::string of_rank = pattern.substr(0, pattern.find('/'));
    for (size_t r = 0; r < model_->ranks.size(); ++r) {
      if (track_matches(of_rank, fmt::format("rank:{}", model_->ranks[r].rank))) add(r);
    }
  }
  return ranks;
}

void Session::take_events(size_t rank_index, SharedEvents events) {
  // Places of slices mean nothing in other events; results stand behind the threads, however many.
  if (selection_.slice && static_cast<size_t>(selection_.slice->rank_index) == rank_index) {
    const auto before = static_cast<int>(model_->ranks[rank_index].lanes().threads.size());
    const auto after = static_cast<int>(events->lanes.threads.size());
    const int result = selection_.slice->thread_index - before;
    selection_.slice->thread_index = result + after;
    if (result < 0) selection_.slice.reset();
  }
  flow_.forget_if_of(rank_index);
  model_->ranks[rank_index].events = std::move(events);
  flow_.find_message_ends(*model_);
  counted_.forget(model_);
  tracks_.relayout();
}

// --- which part of it ---

void Session::set_viewport(int width, int height) {
  width_ = std::max(width, 1);
  tracks_.set_height(height);
}

Interval Session::whole() const { return padded(model_->span, 5); }

void Session::set_range(Interval range) {
  range_ = kept_inside(range, whole());
  tracks_.set_hover(std::nullopt);
}

void Session::look_at(const Looked& looked) {
  page_ = looked.page;
  tracks_.set_filter(looked.filter);
  set_range(looked.range);
}

void Session::show_page(Page page) {
  if (page == page_) return;
  remember(History::Move::kJump);
  page_ = page;
}

void Session::zoom(int pixel, int numerator, int denominator) {
  remember(History::Move::kZoom);
  set_range(zoomed(scale(), pixel, numerator, denominator, whole()));
}

void Session::pan(int pixels) {
  remember(History::Move::kZoom);
  set_range(panned(scale(), pixels, whole()));
}

void Session::show(Interval range) {
  remember(History::Move::kJump);
  set_range(range);
}

void Session::back() {
  if (const std::optional<Looked> before = history_.back(looked())) look_at(*before);
}

void Session::forward() {
  if (const std::optional<Looked> after = history_.forward(looked())) look_at(*after);
}

void Session::go_to_start() {
  const Interval bounds = whole();
  show({bounds.begin, bounds.begin + range_.length()});
}

void Session::go_to_end() {
  const Interval bounds = whole();
  show({bounds.end - range_.length(), bounds.end});
}

std::optional<Interval> Session::extent_of_selection() const {
  if (selection_.slice) return span_of(*model_, *selection_.slice);
  if (selection_.range) return selection_.range;
  if (selection_.step) {
    if (const auto index = model_->index_of_step(*selection_.step)) {
      return model_->steps[*index].window;
    }
  }
  if (selection_.collective) return extent_of(model_->collectives[*selection_.collective]);
  return std::nullopt;
}

void Session::focus() {
  const std::optional<Interval> extent = extent_of_selection();
  if (!extent) return;
  if (extent->begin >= range_.begin && extent->end <= range_.end) {
    const DurationNs least{static_cast<int64_t>(width_)};
    const DurationNs length = std::max(extent->length(), least);
    show(padded({extent->begin, extent->begin + length}, 50));
    return;
  }
  const DurationNs length = std::max(range_.length(), extent->length());
  const DurationNs before{(length.ns - extent->length().ns) / 2};
  show({extent->begin - before, extent->begin - before + length});
}

void Session::set_filter(std::string filter) {
  if (filter == tracks_.arrangement().filter) return;
  remember(History::Move::kFilter);
  tracks_.set_filter(std::move(filter));
}

void Session::toggle_selected() {
  for (const int rank : selection_.ranks) {
    if (const auto index = model_->index_of_rank(rank)) {
      if (const Row* row = tracks_.layout().of_rank(static_cast<int>(*index))) {
        tracks_.toggle(*row);
        return;
      }
    }
  }
}

std::vector<std::string> Session::tracks_of_communicator() const {
  std::vector<std::string> tracks;
  if (!selection_.collective) return tracks;
  const std::string& communicator = model_->collectives[*selection_.collective].communicator;
  std::set<int> ranks;
  for (const analyzer::MatchedCollective& one : model_->collectives) {
    if (one.communicator != communicator) continue;
    for (const analyzer::CollectiveMember& member : one.members) ranks.insert(member.rank);
  }
  for (const int rank : ranks) tracks.push_back(fmt::format("rank:{}", rank));
  return tracks;
}

std::vector<std::string> Session::selected_tracks() const {
  if (!selection_.track.empty()) return {selection_.track};
  if (selection_.slice) {
    return {
        track_of(rank_of(*model_, *selection_.slice).rank, thread_of(*model_, *selection_.slice))};
  }
  std::vector<std::string> tracks;
  for (const int rank : selection_.ranks) tracks.push_back(fmt::format("rank:{}", rank));
  return tracks;
}

std::string Session::pattern_of_selected() const {
  const std::vector<std::string> tracks = selected_tracks();
  if (tracks.empty()) return {};
  const size_t slash = tracks.front().find('/');
  return slash == std::string::npos ? "rank:*" : "rank:*" + tracks.front().substr(slash);
}

void Session::add_note(Interval at, std::string text) {
  if (text.empty()) return;
  notes_.push_back({at, std::move(text)});
  std::ranges::stable_sort(notes_, {}, [](const Note& note) { return note.at.begin; });
}

void Session::remove_note(size_t index) {
  if (index < notes_.size()) notes_.erase(notes_.begin() + static_cast<ptrdiff_t>(index));
}

void Session::show_note(size_t index) {
  if (index >= notes_.size()) return;
  const Interval at = notes_[index].at;
  if (at.empty()) {
    const DurationNs half{range_.length().ns / 2};
    show({at.begin - half, at.begin + half});
  } else {
    select_range(at);
    show(padded(at, 50));
  }
}

// --- what docks ask about the selection ---

EventQuery Session::event_query() const {
  return {selection_.ranks, selected_range(), selection_.name, selection_.durations, event_order_};
}

const EventList& Session::events() const { return counted_.events(event_query()); }

const EventList& Session::events_now() const { return counted_.events_now(event_query()); }

const FlameTree& Session::flame() const {
  EventQuery query = event_query();
  // A stack is known by all its names.
  query.name = flame_order_ == FlameOrder::kSandwich ? histogram_name() : std::string();
  query.durations.reset();
  query.order = EventOrder::kByTime;
  return counted_.flame({std::move(query), flame_order_});
}

std::string Session::histogram_name() const {
  if (!selection_.name.empty()) return selection_.name;
  return selection_.slice ? name_of(*model_, *selection_.slice) : std::string();
}

const Durations& Session::durations() const {
  return counted_.durations(
      {selection_.ranks, selection_.range.value_or(model_->span), histogram_name(), {}});
}

const NamedMarks& Session::named_marks() const {
  static const NamedMarks kNone;
  if (selection_.name.empty()) return kNone;
  MarkQuery query{{{}, range_, selection_.name, selection_.durations},
                  {range_.length().ns / width_}};
  std::vector<int>& ranks = query.events.ranks;
  for (const Row& row : tracks_.layout().rows) {
    if (row.kind != RowKind::kThread) continue;
    const int rank = model_->ranks[static_cast<size_t>(row.rank_index)].rank;
    if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
  }
  return ranks.empty() ? kNone : counted_.marks(query);
}

bool Session::is_counting(Dock dock) const {
  switch (dock) {
    case Dock::kTable:
      return counted_.is_counting_events();
    case Dock::kFlame:
      return counted_.is_counting_flame();
    case Dock::kHistogram:
      return counted_.is_counting_durations();
    default:
      return false;
  }
}

// --- results of the dock SQL ---

std::vector<analyzer::TraceFile> Session::traces_to_ask() const {
  std::vector<analyzer::TraceFile> traces;
  const bool all = sql_.ranks() == SqlRanks::kAll || selection_.ranks.empty();
  for (const analyzer::TraceFile& trace : model_->run.traces) {
    if (model_->rank(trace.rank) == nullptr) continue;
    if (all || selection_.has_rank(trace.rank)) traces.push_back(trace);
  }
  return traces;
}

void Session::choose_result_line(size_t line, std::optional<size_t> column) {
  if (sql_.result() == nullptr || line >= sql_.result()->rows.size()) return;
  const analyzer::SqlResult& result = *sql_.result();
  sql_.choose(line);
  std::optional<NamedRow> row = column ? named_row(result, line, *column) : std::nullopt;
  if (!row) row = named_row(result, line);
  if (row && select(selector_of(*row)).ok()) return;
  // Rows that are not on the timeline, or not yet: its rank is loaded now that it is chosen.
  const int rank = analyzer::rank_of(result.rows[line]);
  if (model_->rank(rank) == nullptr) return;
  select_rank(rank);
  const std::optional<TimeColumns> columns = time_columns(result);
  const auto span = columns ? span_of_line(*model_, result, *columns, line) : std::nullopt;
  if (!span) return;
  select_range(*span);
  if (span->begin < range_.begin || span->end > range_.end) focus();
}

bool Session::next_result_line(int by) {
  if (sql_.result() == nullptr || sql_.result()->rows.empty()) return false;
  const auto lines = static_cast<int64_t>(sql_.result()->rows.size());
  const int64_t before = by > 0 ? -1 : lines;
  const int64_t next = (sql_.line() ? static_cast<int64_t>(*sql_.line()) : before) + by;
  if (next < 0 || next >= lines) return false;
  choose_result_line(static_cast<size_t>(next));
  return true;
}

Status Session::make_result_track() {
  Status good = add_result_track(*model_, sql_);
  if (good.ok()) tracks_.relayout();
  return good;
}

bool Session::has_result_track() const { return view::has_result_track(*model_, sql_); }

void Session::forget_results(const std::function<bool(const ResultLanes&)>& matches) {
  remove_results(*model_, matches);
  // A place behind the threads means another track now, or none.
  const std::optional<SlicePlace>& slice = selection_.slice;
  const bool of_result = slice && static_cast<size_t>(slice->thread_index) >=
                                      rank_of(*model_, *slice).lanes().threads.size();
  if (of_result) selection_.slice.reset();
  tracks_.relayout();
}

void Session::remove_result_track() {
  forget_results([&](const ResultLanes& lanes) { return lanes.result == sql_.result(); });
}

void Session::remove_result_tracks() {
  const std::string& track = selection_.track;
  const size_t slash = track.find("/sql:");
  const std::string word = slash == std::string::npos ? std::string() : track.substr(slash);
  forget_results([&](const ResultLanes& lanes) {
    return word.empty() || track_of(0, lanes.thread).ends_with(word);
  });
  if (!word.empty()) selection_.track.clear();
}

}  // namespace dprof::view
