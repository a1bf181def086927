// SPDX-License-Identifier: Apache-2.0
// What a pane that scrolls shows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gui/view/drawing/draw_list.h"

namespace dprof::view {

// What is told of one thing: (field, value).
using Fields = std::vector<std::pair<std::string, std::string>>;

// A place that can be clicked, and what that does.
struct Link {
  Box box;  // in the content
  std::function<void()> follow;
  bool shows = false;  // something that the timeline has: a double click goes there
  std::string copies;  // to the clipboard; "" = nothing
};

// An area in which a drag chooses a part, from left to right: `choose` takes two x of the content.
struct Brush {
  Box area;
  std::function<void(int from, int to)> choose;
};

// An area in which the mouse sets a value as long as it is held: `set` takes an x of the content.
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
