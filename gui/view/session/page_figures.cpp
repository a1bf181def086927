// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/page_figures.h"

#include <algorithm>

namespace dprof::view {

void StepFigures::open() {
  const bool compared = std::ranges::any_of(
      model_->ranks, [](const RankModel& rank) { return !rank.own_delays.empty(); });
  show_metric(compared ? Metric::kOwnDelay : Metric::kStepTime);
}

void StepFigures::show_metric(Metric metric) {
  metric_ = metric;
  matrix_.reset();
}

void StepFigures::show_order(RankOrder order) {
  order_ = order;
  matrix_.reset();
}

const StepMatrix& StepFigures::matrix() const {
  if (!matrix_) matrix_ = step_matrix(*model_, metric_, order_);
  return *matrix_;
}

void CollectiveFigures::open() {
  show_kind(std::nullopt);
  show_order(CollectiveOrder::kByTime);
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

const PairMap& PairFigures::map() const {
  return map_.now(choice_, [this](const PairChoice& choice) { return pair_map(*model_, choice); });
}

}  // namespace dprof::view
