// SPDX-License-Identifier: Apache-2.0
// The critical path over the timeline: what is on it outlined, the line from rank to rank, and a
// veil over all that could have taken longer.
//
// Cost  follows the pixels and visible rows: of parts that share a pixel one is looked at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gui/view/drawing/draw_list.h"
#include "gui/view/timeline/rows_area.h"

namespace dprof::view {

// Over a rank's rows: the more a part could have taken longer, the thicker.
struct Veil {
  int from = 0;  // pixels
  int to = 0;
  uint8_t grade = 0;
};
// `path`: that is shown; nullptr = none. No veils where steps are too narrow to see anything.
[[nodiscard]] std::vector<Veil> veils_of(const RunPath* path, const TimeScale& scale,
                                         int rank_index, int width);
void draw_veils(const std::vector<Veil>& veils, int y, int height, DrawList& list);

// Above all rows.
void draw_path(const RunPath* path, const RowsArea& area, int width, int height, DrawList& list);

// The place where the path goes on at another rank that is drawn at a point: into RunPath::jumps.
[[nodiscard]] std::optional<size_t> jump_at(const RunPath* path, const RowsArea& area, Point at);

// What carried the path there, and whose it was before: a title and lines.
struct PathWords {
  std::string title;
  std::vector<std::string> lines;
};
[[nodiscard]] PathWords words_of_jump(const RowsArea& area, size_t jump);
// Of a rank at a moment: on the path, or how much it could have taken longer; "" = not known.
[[nodiscard]] std::string path_words_at(const RunPath* path, int rank_index, TraceNs at);

}  // namespace dprof::view
