// SPDX-License-Identifier: Apache-2.0
// What the pages beside the timeline show: what was chosen there, and figures made of it when they
// are first asked for.
//
// Threading  the user interface's thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/compare/compare.h"
#include "gui/view/drawing/kept.h"
#include "gui/view/figures/collective_lines.h"
#include "gui/view/figures/pair_map.h"
#include "gui/view/figures/step_matrix.h"
#include "gui/view/model/model.h"

namespace dprof::view {

struct ComparedRuns {
  std::string other_name;
  analyzer::RunComparison comparison;
};

class PageFigures {
 public:
  // Of a run that is opened: everything as it begins.
  void open(std::shared_ptr<const Model> model);
  // Of the same run, read again: what was chosen stays.
  void renew(std::shared_ptr<const Model> model);

  // Ranks × steps. O(pieces).
  void show_metric(Metric metric);
  void show_order(RankOrder order);
  [[nodiscard]] RankOrder rank_order() const { return rank_order_; }
  [[nodiscard]] const StepMatrix& matrix() const;

  // Collectives: positions in Model::collectives, O(n log n); or one line for each kind.
  [[nodiscard]] const std::vector<uint32_t>& collective_lines() const;
  [[nodiscard]] CollectiveOrder collective_order() const { return collective_order_; }
  void show_collective_order(CollectiveOrder order);
  // Of one kind only; nullopt = all.
  [[nodiscard]] const std::optional<CollectiveKind>& collective_kind() const {
    return collective_kind_;
  }
  void show_collective_kind(std::optional<CollectiveKind> kind);
  [[nodiscard]] bool are_collectives_grouped() const { return collectives_grouped_; }
  void group_collectives();
  [[nodiscard]] const std::vector<CollectiveGroup>& collective_groups() const;

  // Matrix. O(pairs log pairs).
  [[nodiscard]] const PairChoice& pair_choice() const { return pair_choice_; }
  void show_pairs(PairChoice choice) { pair_choice_ = std::move(choice); }
  [[nodiscard]] const PairMap& pairs() const;

  // The other run that Compare shows beside this one; nullptr = none.
  [[nodiscard]] const ComparedRuns* comparison() const { return comparison_.get(); }
  void show_comparison(std::shared_ptr<const ComparedRuns> runs) { comparison_ = std::move(runs); }

 private:
  std::shared_ptr<const Model> model_;
  Metric metric_ = Metric::kOwnDelay;
  RankOrder rank_order_ = RankOrder::kByRank;
  mutable std::optional<StepMatrix> matrix_;
  CollectiveOrder collective_order_ = CollectiveOrder::kByTime;
  std::optional<CollectiveKind> collective_kind_;
  bool collectives_grouped_ = false;
  mutable std::optional<std::vector<CollectiveGroup>> collective_groups_;
  mutable std::optional<std::vector<uint32_t>> collective_lines_;
  PairChoice pair_choice_;
  mutable Kept<PairChoice, PairMap> pairs_;
  std::shared_ptr<const ComparedRuns> comparison_;
};

}  // namespace dprof::view
