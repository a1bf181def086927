// SPDX-License-Identifier: Apache-2.0
// The state of pages beside the timeline, a class for each: the choices made there, and figures
// derived from them on first use.
//
// Threading  the user interface's thread only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/compare/compare.h"
#include "analyzer/diff/diff.h"
#include "gui/view/drawing/counted.h"
#include "gui/view/figures/collective_lines.h"
#include "gui/view/figures/grid_waits.h"
#include "gui/view/figures/pair_map.h"
#include "gui/view/figures/step_matrix.h"
#include "gui/view/model/model.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

// Each has open(), for a newly opened run: everything at its defaults; and renew(), for the same
// run read again: choices stay.

// Ranks × steps.
class StepFigures {
 public:
  explicit StepFigures(const SharedModel& model) : model_(model) {}
  void open();
  void renew();

  void show_metric(Metric metric);
  void show_order(RankOrder order);
  void divide(std::optional<size_t> division);  // position in RankGroups::divisions
  void next_division();                         // cycles, with none after the last one
  void fold(bool folded);                       // a row per group, or per rank
  void toggle_group(size_t group);              // unfolds one folded group, or folds it again
  [[nodiscard]] const RowChoice& rows() const { return rows_; }
  [[nodiscard]] const StepMatrix& matrix() const;  // O(pieces)

 private:
  const SharedModel& model_;
  Metric metric_ = Metric::kOwnDelay;
  RowChoice rows_;
  mutable std::optional<StepMatrix> matrix_;
};

// Collectives: one by one, or one line per kind.
class CollectiveFigures {
 public:
  explicit CollectiveFigures(const SharedModel& model) : model_(model) {}
  void open();
  void renew();

  // Positions in Model::collectives. O(n log n).
  [[nodiscard]] const std::vector<uint32_t>& lines() const;
  [[nodiscard]] CollectiveOrder order() const { return order_; }
  void show_order(CollectiveOrder order);
  // Of one kind only; nullopt = all.
  [[nodiscard]] const std::optional<CollectiveKind>& kind() const { return kind_; }
  void show_kind(std::optional<CollectiveKind> kind);
  [[nodiscard]] bool are_grouped() const { return grouped_; }
  void group();
  [[nodiscard]] const std::vector<CollectiveGroup>& groups() const;

 private:
  const SharedModel& model_;
  CollectiveOrder order_ = CollectiveOrder::kByTime;
  std::optional<CollectiveKind> kind_;
  bool grouped_ = false;
  mutable std::optional<std::vector<CollectiveGroup>> groups_;
  mutable std::optional<std::vector<uint32_t>> lines_;
};

// Matrix.
class PairFigures {
 public:
  PairFigures(const SharedModel& model, Selecting& selecting)
      : model_(model), selecting_(selecting) {}
  void open() { show({}); }
  void renew() { map_.forget(); }

  [[nodiscard]] const PairChoice& choice() const { return choice_; }
  void show(PairChoice choice) { choice_ = std::move(choice); }
  [[nodiscard]] const PairMap& map() const;  // O(pairs log pairs)
  // Both ranks, with what counts most between them.
  void select(analyzer::RankPair pair) { selecting_.select_pair(choice_, pair); }

 private:
  const SharedModel& model_;
  Selecting& selecting_;
  PairChoice choice_;
  mutable Counted<PairChoice, PairMap> map_;
};

// Topology.
class GridFigures {
 public:
  explicit GridFigures(const SharedModel& model) : model_(model) {}
  void open() { show(GridMeasure::kWait); }
  void renew();

  [[nodiscard]] GridMeasure measure() const { return measure_; }
  void show(GridMeasure measure) { measure_ = measure; }
  [[nodiscard]] const GridValues& values() const;
  [[nodiscard]] const LineWaits& waits() const;

 private:
  const SharedModel& model_;
  GridMeasure measure_ = GridMeasure::kWait;
  mutable Counted<GridMeasure, GridValues> values_;
  mutable std::optional<LineWaits> waits_;
};

// A rank of the other run, for the side-by-side timelines.
struct OtherRank {
  int rank = 0;
  std::vector<analyzer::StepWindow> steps;
  SummaryLane summary;
};

// The other run that Compare shows beside this one.
struct ComparedRuns {
  std::string other_name;
  analyzer::RunComparison comparison;
  std::optional<analyzer::Diff> diff;  // from this run (A) to the other (B), as in `dprof diff`
  std::string why_no_diff;             // if there is none
  std::vector<OtherRank> beside;       // those that changed most; both runs have them
  // For each run a steady step of median length, shown by the timelines if no step is chosen.
  int64_t usual_step = 0;
  int64_t others_usual_step = 0;
};

}  // namespace dprof::view
