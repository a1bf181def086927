// SPDX-License-Identifier: Apache-2.0
// The item under the mouse.
#pragma once

#include <optional>

#include "gui/view/drawing/time_scale.h"
#include "gui/view/model/layout.h"
#include "gui/view/model/slice_place.h"

namespace dprof::view {

struct Hit {
  const Row* row = nullptr;  // into the layout
  TraceNs time;
  std::optional<SlicePlace> slice;  // the longest, if several share the pixel
  uint32_t folded = 0;              // how many share it; 0 = only this one
  std::optional<uint32_t> piece;    // of the rank's summary
  int memory = -1;                  // into RankModel::memory; -1 = none
};

// `x`, `y` in the coordinates of scale and layout. O(log slices).
[[nodiscard]] Hit hit_test(const Model& model, const Layout& layout, const TimeScale& scale, int x,
                           int y);

// The position of a depth's bars, relative to the row.
[[nodiscard]] inline int depth_top(int depth) { return kThreadPadding + depth * kDepthPitch; }

}  // namespace dprof::view
