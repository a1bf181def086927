// SPDX-License-Identifier: Apache-2.0
// The last section of the text report: what was lost, not read or not computed, and what to do
// about it.
#pragma once

#include <string>

#include "analyzer/render/layout.h"
#include "analyzer/render/text.h"

namespace dprof::analyzer {

// "" where everything is known.
[[nodiscard]] std::string unknown_section(const Report& report, const TextOptions& options,
                                          const Painter& paint);

}  // namespace dprof::analyzer
