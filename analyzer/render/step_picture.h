// SPDX-License-Identifier: Apache-2.0
// WHERE A STEP GOES: the mean step as bars that add up to it.
#pragma once

#include <string>

#include "analyzer/render/layout.h"
#include "analyzer/render/text.h"

namespace dprof::analyzer {

[[nodiscard]] std::string step_section(const Report& report, const TextOptions& options,
                                       const Painter& paint);

}  // namespace dprof::analyzer
