// SPDX-License-Identifier: Apache-2.0
// What a pane that scrolls shows.
#pragma once

#include "gui/view/draw_list.h"

namespace dprof::view {

struct Panel {
  DrawList list;
  int height = 0;  // of the content
  int width = 0;   // of the content; 0 = as wide as the panel
};

}  // namespace dprof::view
