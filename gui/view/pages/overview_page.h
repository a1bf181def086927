// SPDX-License-Identifier: Apache-2.0
// The page Overview: where a mean step goes, over all ranks and rank by rank; the report's figures.
#pragma once

#include <vector>

#include "gui/view/panel.h"
#include "gui/view/session.h"

namespace dprof::view {

struct OverviewPage {
  Panel panel;
  struct Line {
    Box box;  // in the content
    int rank = 0;
  };
  std::vector<Line> ranks;  // for clicks
};

[[nodiscard]] OverviewPage draw_overview_page(const Session& session, int width, int height,
                                              const TextMeasure& measure);

}  // namespace dprof::view
