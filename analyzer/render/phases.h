// SPDX-License-Identifier: Apache-2.0
// The part of the text report on the phases that the program marked.
#pragma once

#include <string>

#include "analyzer/render/layout.h"
#include "analyzer/render/text.h"

namespace dprof::analyzer {

// "" where the breakdown says it all: no other phases than its own, once per step each.
[[nodiscard]] std::string phase_section(const Report& report, const TextOptions& options,
                                        const Painter& paint);

}  // namespace dprof::analyzer
