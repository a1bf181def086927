// SPDX-License-Identifier: Apache-2.0
// The page Collectives: a line per collective, over all ranks: who came last, how long the others
// waited, how long data moved.
//
// Cost  a frame follows the lines in view; the lines are sorted once per order.
#pragma once

#include <optional>
#include <vector>

#include "gui/view/panel.h"
#include "gui/view/session.h"

namespace dprof::view {

struct CollectivesPage {
  Panel panel;
  struct Choice {
    Box box;  // in the content
    CollectiveOrder order;
  };
  std::vector<Choice> choices;
};

// What is in view when the content is scrolled down to `top`.
[[nodiscard]] CollectivesPage draw_collectives(const Session& session, int width, int height,
                                               int top, const TextMeasure& measure);

// Position in Model::collectives of the line at a height of the content.
[[nodiscard]] std::optional<uint32_t> collective_line_at(const Session& session, int top, int y);

}  // namespace dprof::view
