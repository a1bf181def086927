// SPDX-License-Identifier: Apache-2.0
// The timeline's area of rows: maps moments and tracks to positions in it.
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
