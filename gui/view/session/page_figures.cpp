// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/page_figures.h"

#include <algorithm>

namespace dprof::view {

void PageFigures::open(std::shared_ptr<const Model> model) {
  const bool compared = std::ranges::any_of(
      model->ranks, [](const RankModel& rank) { return !rank.own_delays.empty(); });
  const RankOrder kept = rank_order_;
  *this = {};
  rank_order_ = kept;
  metric_ = compared ? Metric::kOwnDelay : Metric::kStepTime;
  model_ = std::move(model);
}

void PageFigures::renew(std::shared_ptr<const Model> model) {
  model_ = std::move(model);
  matrix_.reset();
  collective_lines_.reset();
  collective_groups_.reset();
  pairs_.forget();
}

void PageFigures::show_metric(Metric metric) {
  metric_ = metric;
  matrix_.reset();
}

void PageFigures::show_order(RankOrder order) {
  rank_order_ = order;
  matrix_.reset();
}

void PageFigures::show_collective_order(CollectiveOrder order) {
  collective_order_ = order;
  collectives_grouped_ = false;
  collective_lines_.reset();
}

void PageFigures::show_collective_kind(std::optional<CollectiveKind> kind) {
  collective_kind_ = std::move(kind);
  collectives_grouped_ = false;
  collective_lines_.reset();
}

void PageFigures::group_collectives() {
  collective_kind_.reset();
  collectives_grouped_ = true;
  collective_lines_.reset();
}

const std::vector<uint32_t>& PageFigures::collective_lines() const {
  if (!collective_lines_)
    collective_lines_ = sorted_collectives(*model_, collective_order_, collective_kind_);
  return *collective_lines_;
}

const std::vector<CollectiveGroup>& PageFigures::collective_groups() const {
  if (!collective_groups_) collective_groups_ = view::collective_groups(*model_);
  return *collective_groups_;
}

const PairMap& PageFigures::pairs() const {
  return pairs_.of(pair_choice_,
                   [this](const PairChoice& choice) { return pair_map(*model_, choice); });
}

const StepMatrix& PageFigures::matrix() const {
  if (!matrix_) matrix_ = step_matrix(*model_, metric_, rank_order_);
  return *matrix_;
}

}  // namespace dprof::view
