// SPDX-License-Identifier: Apache-2.0
// The time bar: the `whole` run at a glance, with utilisation, findings, and a brush for the
// visible range.
#pragma once

#include "gui/view/drawing/draw_list.h"
#include "gui/view/model/model.h"

namespace dprof::view {

inline constexpr int kOverviewHeight = 56;

[[nodiscard]] DrawList draw_overview(const Model& model, Interval whole, int width);
// Only the brush: it moves while the rest stays unchanged.
[[nodiscard]] DrawList draw_brush(Interval range, Interval whole, int width);

}  // namespace dprof::view
