// SPDX-License-Identifier: Apache-2.0
// The clocks of a run's hosts and devices; "" where there is one clock and nothing to say.
#pragma once

#include <string>

#include "analyzer/render/layout.h"
#include "analyzer/render/text.h"

namespace dprof::analyzer {

[[nodiscard]] std::string clock_section(const Report& report, const TextOptions& options,
                                        const Painter& paint);
// Times cannot be relied on everywhere.
[[nodiscard]] bool has_clock_trouble(const Report& report);

}  // namespace dprof::analyzer
