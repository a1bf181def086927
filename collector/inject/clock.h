// SPDX-License-Identifier: Apache-2.0
// Which clock this process reads (collector/wire/ticks.h): the one that the recorder names in
// DPROF_CLOCK.
#pragma once

#include "collector/wire/layout.h"

namespace dprof::inject {

// The scale that the recorder has put into the environment ("source tick0 multiplier shift"), or
// one that makes ticks of CLOCK_MONOTONIC's nanoseconds when `text` is null or makes no sense.
[[nodiscard]] wire::TickScale tick_scale_of(const char* text) noexcept;

}  // namespace dprof::inject
