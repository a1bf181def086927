// SPDX-License-Identifier: Apache-2.0
// Which clock this process reads (collector/wire/ticks.h): the one named by the recorder in
// DPROF_CLOCK.
#pragma once

#include "collector/wire/layout.h"

namespace dprof::inject {

// The scale from the recorder's environment variable ("source tick0 multiplier shift"), or one for
// nanoseconds of CLOCK_MONOTONIC as ticks if `text` is null or malformed.
[[nodiscard]] wire::TickScale tick_scale_of(const char* text) noexcept;

}  // namespace dprof::inject
