// SPDX-License-Identifier: Apache-2.0
// The page Ranks × steps: who is slow when. A row per rank, or per group with the highest of its
// ranks; a column per step. If there are more cells than pixels, a pixel shows its largest value;
// but the rows of culprits are as high as their names.
//
// Cost  depends on the pixels; the matrix is made once per figure and order.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gui/view/drawing/choice.h"
#include "gui/view/drawing/draw_list.h"
#include "gui/view/model/selection.h"
#include "gui/view/session/page_figures.h"

namespace dprof::view {

// A word above the map, or a group's name beside it, and what a click on it chooses.
struct HeatmapChoice {
  Box box;
  std::string title;
  std::function<void(StepFigures&)> choose;
};

struct HeatmapPage {
  DrawList list;
  std::vector<HeatmapChoice> choices;
  Box map;  // empty without data
};

// A rank and a step.
struct HeatmapCell {
  int rank = 0;
  int64_t step = 0;
  std::string text;  // "rank 5 · step 42 · own delay 46.2 ms"
};

[[nodiscard]] HeatmapPage draw_heatmap(const Model& model, const StepFigures& figures,
                                       const Selection& selection, int width, int height,
                                       const TextMeasure& measure, PageUse use = PageUse::kWindow);

[[nodiscard]] std::optional<HeatmapCell> heatmap_cell_at(const Model& model,
                                                         const StepFigures& figures, const Box& map,
                                                         Point at);

// The cell under the mouse, with its figure beside it.
[[nodiscard]] DrawList draw_heatmap_overlay(const Model& model, const StepFigures& figures,
                                            const Box& map, std::optional<Point> mouse,
                                            const TextMeasure& measure);

}  // namespace dprof::view
