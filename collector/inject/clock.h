// SPDX-License-Identifier: Apache-2.0
// The clock that this process reads (collector/wire/ticks.h): named by the recorder in
// DPROF_CLOCK.
#pragma once

#include "collector/wire/layout.h"

namespace dprof::inject {

// The scale from the recorder's environment variable ("source tick0 multiplier shift"), or one for
// nanoseconds of CLOCK_MONOTONIC as ticks if `text` is null or malformed.
[[nodiscard]] wire::TickScale tick_scale_of(const char* text) noexcept;

}  // namespace dprof::inject
