// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session.h"

#include <algorithm>

#include "gui/view/collective_times.h"

namespace dprof::view {
namespace {

constexpr size_t kHistory = 100;
constexpr size_t kManyRanks = 16;  // more of them are seen on Ranks × steps first

}  // namespace

void Session::open(std::shared_ptr<const Model> model) {
  model_ = std::move(model);
  comparison_.reset();
  forget_all();
  pair_choice_ = {};
  collective_order_ = CollectiveOrder::kByTime;
  collective_kind_.reset();
  collectives_grouped_ = false;
  const bool compared = std::ranges::any_of(
      model_->ranks, [](const RankModel& rank) { return !rank.own_delays.empty(); });
  metric_ = compared ? Metric::kOwnDelay : Metric::kStepTime;
  page_ = model_->ranks.size() > kManyRanks ? Page::kHeatmap : Page::kTimeline;
  selection_ = {};
  arrangement_ = {};
  notes_.clear();
  sql_ = {};
  for (const RankModel& rank : model_->ranks) rank.results.clear();
  back_.clear();
  forward_.clear();
  scroll_ = 0;
  range_ = whole();
  relayout();
  if (!model_->findings().empty()) {
    select_finding(0);
  } else if (const std::optional<int64_t> step = typical_step(nullptr)) {
    select_step(*step);
  }
  unfold_what_fits();
  if (hung_collective()) select_hang();  // a hung run opens there
  scroll_ = 0;
  if (!selection_.ranks.empty()) scroll_to_rank(selection_.ranks.front());
  back_.clear();
  opened_ = saved_view();
}

// What was made from the model that was open before.
void Session::forget_all() {
  matrix_.reset();
  collective_lines_.reset();
  collective_groups_.reset();
  pairs_.forget();
  forget_events();
  forget_flow();
  hover_.reset();
}

std::optional<uint32_t> Session::hung_collective() const {
  std::optional<uint32_t> hung;
  if (!model_->report.hang) return hung;
  const analyzer::Hang& hang = *model_->report.hang;
  for (uint32_t c = 0; c < model_->collectives.size(); ++c) {
    const analyzer::MatchedCollective& one = model_->collectives[c];
    const bool same = one.communicator == hang.communicator && one.function == hang.function &&
                      (!hang.sequence || one.sequence == *hang.sequence);
    if (same && !one.complete) hung = c;
  }
  return hung;
}

void Session::select_hang() {
  if (!model_->report.hang) return;
  show_page(Page::kTimeline);
  if (const std::optional<uint32_t> hung = hung_collective()) {
    const std::optional<size_t> finding = selection_.finding;
    select_collective(*hung);
    selection_.finding = finding;
    return;
  }
  const analyzer::Hang& hang = *model_->report.hang;
  selection_ = {};
  selection_.ranks = hang.culprits.empty() ? hang.waiting : hang.culprits;
  unfold_selected();
  go_to_end();
}

// A small run shows all its threads, a large one those of the ranks that its finding names.
void Session::unfold_what_fits() {
  const Arrangement chosen = arrangement_;
  for (const RankModel& rank : model_->ranks) arrangement_.unfolded_ranks.insert(rank.rank);
  relayout();
  constexpr size_t kAlwaysWhole = 2;
  if (layout_.height <= height_ || model_->ranks.size() <= kAlwaysWhole) return;
  arrangement_ = chosen;
  if (arrangement_.unfolded_ranks.empty() && !model_->ranks.empty()) {
    arrangement_.unfolded_ranks.insert(model_->ranks.front().rank);
  }
  relayout();
}

void Session::set_viewport(int width, int height) {
  width_ = std::max(width, 1);
  height_ = std::max(height, 1);
  fix_pinned();
  keep_scroll_inside();
}

Interval Session::whole() const { return padded(model_->span, 5); }

void Session::set_range(Interval range) {
  const Interval bounds = whole();
  range_ = kept_inside(range, bounds);
  hover_.reset();
}

void Session::remember(Moving moving) {
  if (moving == Moving::kNo || moving != moving_) {
    back_.push_back(looked());
    if (back_.size() > kHistory) back_.erase(back_.begin());
    forward_.clear();
  }
  moving_ = moving;
}

void Session::look_at(const Looked& looked) {
  moving_ = Moving::kNo;
  page_ = looked.page;
  if (arrangement_.filter != looked.filter) {
    arrangement_.filter = looked.filter;
    relayout();
  }
  set_range(looked.range);
}

void Session::show_page(Page page) {
  if (page == page_) return;
  remember(Moving::kNo);
  page_ = page;
}

void Session::zoom(int pixel, int numerator, int denominator) {
  remember(Moving::kZoom);
  set_range(zoomed(scale(), pixel, numerator, denominator, whole()));
}

void Session::pan(int pixels) {
  remember(Moving::kZoom);
  set_range(panned(scale(), pixels, whole()));
}

void Session::show(Interval range) {
  remember(Moving::kNo);
  set_range(range);
}

void Session::back() {
  if (back_.empty()) return;
  forward_.push_back(looked());
  const Looked before = back_.back();
  back_.pop_back();
  look_at(before);
}

void Session::forward() {
  if (forward_.empty()) return;
  back_.push_back(looked());
  const Looked after = forward_.back();
  forward_.pop_back();
  look_at(after);
}

void Session::show_metric(Metric metric) {
  metric_ = metric;
  matrix_.reset();
}

void Session::show_order(RankOrder order) {
  order_ = order;
  matrix_.reset();
}

void Session::show_collective_order(CollectiveOrder order) {
  collective_order_ = order;
  collectives_grouped_ = false;
  collective_lines_.reset();
}

void Session::show_collective_kind(std::optional<CollectiveKind> kind) {
  collective_kind_ = std::move(kind);
  collectives_grouped_ = false;
  collective_lines_.reset();
}

void Session::group_collectives() {
  collective_kind_.reset();
  collectives_grouped_ = true;
  collective_lines_.reset();
}

const std::vector<uint32_t>& Session::collective_lines() const {
  if (!collective_lines_)
    collective_lines_ = sorted_collectives(*model_, collective_order_, collective_kind_);
  return *collective_lines_;
}

const std::vector<CollectiveGroup>& Session::collective_groups() const {
  if (!collective_groups_) collective_groups_ = view::collective_groups(*model_);
  return *collective_groups_;
}

const PairMap& Session::pairs() const {
  return pairs_.of(pair_choice_,
                   [this](const PairChoice& choice) { return pair_map(*model_, choice); });
}

const StepMatrix& Session::matrix() const {
  if (!matrix_) matrix_ = step_matrix(*model_, metric_, order_);
  return *matrix_;
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

}  // namespace dprof::view
