// SPDX-License-Identifier: Apache-2.0
// The banner above every page of a run that hung or failed: how, who failed first, who waited.
#pragma once

#include "gui/view/drawing/panel.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

inline constexpr int kFailureBannerHeight = 50;

// A click goes to the second of the failure. Empty if the run did not fail.
[[nodiscard]] Panel draw_failure_banner(const Model& model, Selecting& selecting, int width,
                                        const TextMeasure& measure);

}  // namespace dprof::view
