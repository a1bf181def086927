// SPDX-License-Identifier: Apache-2.0
// The area of the timeline that shows rows: where a moment and a track are in it.
#pragma once

#include "gui/view/drawing/time_scale.h"
#include "gui/view/session/tracks.h"

namespace dprof::view {

struct RowsArea {
  const Model& model;
  const Tracks& tracks;
  TimeScale scale;
};

}  // namespace dprof::view
