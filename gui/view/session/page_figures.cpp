// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/page_figures.h"

#include <algorithm>

#include "gui/view/figures/notable_ranks.h"

namespace dprof::view {

void StepFigures::open() {
  const bool compared = std::ranges::any_of(
      model_->ranks, [](const RankModel& rank) { return !rank.own_delays.empty(); });
  show_metric(compared ? Metric::kOwnDelay : Metric::kStepTime);
  divide(std::nullopt);
}

// A run that is read again can have other divisions.
void StepFigures::renew() {
  if (rows_.division && *rows_.division >= model_->groups.divisions.size()) divide(std::nullopt);
  matrix_.reset();
}

void StepFigures::show_metric(Metric metric) {
  metric_ = metric;
  matrix_.reset();
}

void StepFigures::show_order(RankOrder order) {
  rows_.order = order;
  matrix_.reset();
}

void StepFigures::divide(std::optional<size_t> division) {
  rows_ = {.order = rows_.order,
           .division = division,
           .folded = division && (rows_.folded || !rows_.division)};
  matrix_.reset();
}

void StepFigures::next_division() {
  const size_t next = rows_.division ? *rows_.division + 1 : 0;
  divide(next < model_->groups.divisions.size() ? std::optional(next) : std::nullopt);
}

void StepFigures::fold(bool folded) {
  rows_.folded = folded && rows_.division;
  rows_.unfolded.clear();
  matrix_.reset();
}

void StepFigures::toggle_group(size_t group) {
  if (rows_.unfolded.erase(group) == 0) rows_.unfolded.insert(group);
  matrix_.reset();
}

const StepMatrix& StepFigures::matrix() const {
  if (!matrix_) matrix_ = step_matrix(*model_, metric_, rows_);
  return *matrix_;
}

void CollectiveFigures::open() {
  show_kind(std::nullopt);
  show_order(CollectiveOrder::kByTime);
  if (has_many_ranks(*model_)) group();  // tens of thousands of lines are not readable
  renew();
}

void CollectiveFigures::renew() {
  lines_.reset();
  groups_.reset();
}

void CollectiveFigures::show_order(CollectiveOrder order) {
  order_ = order;
  grouped_ = false;
  lines_.reset();
}

void CollectiveFigures::show_kind(std::optional<CollectiveKind> kind) {
  kind_ = std::move(kind);
  grouped_ = false;
  lines_.reset();
}

void CollectiveFigures::group() {
  kind_.reset();
  grouped_ = true;
  lines_.reset();
}

const std::vector<uint32_t>& CollectiveFigures::lines() const {
  if (!lines_) lines_ = sorted_collectives(*model_, order_, kind_);
  return *lines_;
}

const std::vector<CollectiveGroup>& CollectiveFigures::groups() const {
  if (!groups_) groups_ = collective_groups(*model_);
  return *groups_;
}

void GridFigures::renew() {
  values_.forget();
  waits_.reset();
}

const GridValues& GridFigures::values() const {
  return values_.now(measure_,
                     [this](GridMeasure measure) { return grid_values(*model_, measure); });
}

const LineWaits& GridFigures::waits() const {
  if (!waits_) waits_ = line_waits(*model_);
  return *waits_;
}

const PairMap& PairFigures::map() const {
  return map_.now(choice_, [this](const PairChoice& choice) { return pair_map(*model_, choice); });
}

}  // namespace dprof::view
