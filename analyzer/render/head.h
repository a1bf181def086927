// SPDX-License-Identifier: Apache-2.0
// The first lines of the text report: which run, and whether its recording can be believed; and
// what is said of a run that came to a standstill.
#pragma once

#include <string>

#include "analyzer/render/layout.h"
#include "analyzer/render/text.h"

namespace dprof::analyzer {

[[nodiscard]] std::string head_section(const Report& report, const TextOptions& options,
                                       const Painter& paint);
// "all_reduce #42 of default_pg".
[[nodiscard]] std::string hung_operation(const Hang& hang);
// How that was decided, or where the trace ended before a reason was found.
[[nodiscard]] std::string hang_sentence(const Hang& hang);
// "" where nothing hangs.
[[nodiscard]] std::string hang_section(const Report& report, const TextOptions& options,
                                       const Painter& paint);

}  // namespace dprof::analyzer
