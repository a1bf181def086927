// SPDX-License-Identifier: Apache-2.0
// The time bar: the `whole` run at a glance, with utilisation, findings, and the visible range as a
// brush.
#pragma once

#include "gui/view/drawing/draw_list.h"
#include "gui/view/model/model.h"

namespace dprof::view {

inline constexpr int kOverviewHeight = 56;

[[nodiscard]] DrawList draw_overview(const Model& model, Interval whole, int width);
// The brush alone: it moves while the rest stands still.
[[nodiscard]] DrawList draw_brush(Interval range, Interval whole, int width);

}  // namespace dprof::view
