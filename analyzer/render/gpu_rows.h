// SPDX-License-Identifier: Apache-2.0
// GPU time as other tools count it; "" where no trace has GPU rows.
#pragma once

#include <string>

#include "analyzer/render/layout.h"
#include "analyzer/render/text.h"

namespace dprof::analyzer {

[[nodiscard]] std::string gpu_rows_section(const Report& report, const TextOptions& options,
                                           const Painter& paint);

}  // namespace dprof::analyzer
