// SPDX-License-Identifier: Apache-2.0
// What is said above every page of a run that came to a standstill: where, who is missing, who
// waits.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

inline constexpr int kHangBannerHeight = 50;

// A click selects the collective that never completed. Empty where nothing hangs.
[[nodiscard]] Panel draw_hang_banner(const Model& model, Selecting& selecting, int width,
                                     const TextMeasure& measure);

}  // namespace dprof::view
