// SPDX-License-Identifier: Apache-2.0
// The pages that scroll, one function for all.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/page.h"
#include "gui/view/session/session.h"

namespace dprof::view {

struct PageSize {
  int width = 0;
  int height = 0;
};

// What a page that scrolls shows from `top` on, in pixels; empty for one that is not in view, and
// for the timeline and Ranks × steps, which have panes of their own.
[[nodiscard]] Panel draw_page(const Session& session, Page page, PageSize size, int top,
                              const TextMeasure& measure);

}  // namespace dprof::view
