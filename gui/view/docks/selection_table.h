// SPDX-License-Identifier: Apache-2.0
// The selection's time: categories × ranks, from the analyser's pieces. Pieces of a rank
// never overlap, so sums are exact.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gui/view/drawing/panel.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

struct SelectionTable {
  struct Line {
    analyzer::Category category{};
    std::vector<int64_t> ns;             // by rank
    int64_t mean_ns = 0;                 // over the ranks
    std::optional<size_t> standing_out;  // the column in which a culprit's rank exceeds the others
  };
  std::string title;  // "41.231 s – 41.543 s · 311.4 ms · step 43 · 8 ranks"
  std::vector<int> ranks;
  std::vector<size_t> shown;         // columns: positions in `ranks`; of many, the notable ones
  std::vector<std::string> reasons;  // why each column is there; empty if all are shown
  std::vector<Line> lines;           // categories with time on some rank, in report order
  std::vector<int64_t> wall_ns;      // by rank: the sum of all categories
  int64_t mean_wall_ns = 0;
  std::string why_empty;  // shown instead of lines
};

// With many ranks the columns are the notable and the selected ones; means are over all ranks. For
// a selected step each rank's own window of that step counts, as in the report; for a range, the
// range.
[[nodiscard]] SelectionTable selection_table(const Model& model, const Selecting& selecting);

[[nodiscard]] Panel draw_selection_table(const Model& model, const Selecting& selecting, int width,
                                         int height, const TextMeasure& measure);

}  // namespace dprof::view
