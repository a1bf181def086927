// SPDX-License-Identifier: Apache-2.0
// The first lines of the text report: which run, and whether its recording can be believed; and
// what is said of a run that came to a standstill.
#pragma once

#include <string>

#include "analyzer/report/render/layout.h"
#include "analyzer/report/render/text.h"

namespace dprof::analyzer {

[[nodiscard]] std::string head_section(const Report& report, const TextOptions& options,
                                       const Painter& paint);
// "" where nothing hangs.
[[nodiscard]] std::string hang_section(const Report& report, const TextOptions& options,
                                       const Painter& paint);

}  // namespace dprof::analyzer
