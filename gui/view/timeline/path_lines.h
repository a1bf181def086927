// SPDX-License-Identifier: Apache-2.0
// The critical path over the timeline: an outline around what is on it, the line from rank to rank,
// and a veil over everything with slack.
//
// Cost  depends on pixels and visible rows: of parts that share a pixel one is examined.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gui/view/drawing/draw_list.h"
#include "gui/view/timeline/rows_area.h"

namespace dprof::view {

// Over a rank's rows: the more slack, the thicker.
struct Veil {
  int from = 0;  // pixels
  int to = 0;
  uint8_t grade = 0;
};
// `path`: the one shown; nullptr = none. No veils if steps are too narrow to see anything.
[[nodiscard]] std::vector<Veil> veils_of(const RunPath* path, const TimeScale& scale,
                                         int rank_index, int width);
void draw_veils(const std::vector<Veil>& veils, int y, int height, DrawList& list);

// Over all rows.
void draw_path(const RunPath* path, const RowsArea& area, int width, int height, DrawList& list);

// The jump to another rank that is drawn at a point: an index into RunPath::jumps.
[[nodiscard]] std::optional<size_t> jump_at(const RunPath* path, const RowsArea& area, Point at);

// The link that carried the path across a jump, and the rank it came from: a title and lines.
struct PathWords {
  std::string title;
  std::vector<std::string> lines;
};
[[nodiscard]] PathWords words_of_jump(const RowsArea& area, size_t jump);
// For a rank at a moment: "on the path" or its slack; "" = not known.
[[nodiscard]] std::string path_words_at(const RunPath* path, int rank_index, TraceNs at);

}  // namespace dprof::view
