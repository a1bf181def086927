// SPDX-License-Identifier: Apache-2.0
// The content of a scrolling pane.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gui/view/drawing/draw_list.h"

namespace dprof::view {

// Facts about one thing: (field, value).
using Fields = std::vector<std::pair<std::string, std::string>>;

// A clickable area and its action.
struct Link {
  Box box;  // in content coordinates
  std::function<void()> follow;
  bool shows = false;  // something on the timeline: a double click goes there
  std::string copies;  // copied to the clipboard; "" = nothing
};

// An area in which a drag chooses a range, from left to right: `choose` gets two x in the content.
struct Brush {
  Box area;
  std::function<void(int from, int to)> choose;
};

// An area in which the mouse sets a value while it is held: `set` gets an x in the content.
struct Slider {
  Box area;
  std::function<void(int x)> set;
};

struct Panel {
  DrawList list;
  int height = 0;  // of the content
  int width = 0;   // of the content; 0 = as wide as the panel
  std::vector<Link> links;
  std::optional<Brush> brush;
  std::vector<Slider> sliders;
};

}  // namespace dprof::view
