// SPDX-License-Identifier: Apache-2.0
// The part of the text report on sends and receives.
#pragma once

#include <string>

#include "analyzer/render/layout.h"
#include "analyzer/render/text.h"

namespace dprof::analyzer {

// "" where nothing was sent. At most `options.top` rows, the dearest first.
[[nodiscard]] std::string point_to_point_section(const Report& report, const TextOptions& options,
                                                 const Painter& paint);

}  // namespace dprof::analyzer
