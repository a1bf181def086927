// SPDX-License-Identifier: Apache-2.0
// The two tables at the end of the text report. Each is "" where there is nothing to show.
#pragma once

#include <string>

#include "analyzer/render/layout.h"
#include "analyzer/render/text.h"

namespace dprof::analyzer {

[[nodiscard]] std::string rank_section(const Report& report, const TextOptions& options,
                                       const Painter& paint);
[[nodiscard]] std::string collective_section(const Report& report, const TextOptions& options,
                                             const Painter& paint);

}  // namespace dprof::analyzer
