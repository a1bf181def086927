// SPDX-License-Identifier: Apache-2.0
// What the text report says of memory. Each is "" where nothing is known of it.
#pragma once

#include <string>

#include "analyzer/report/render/layout.h"
#include "analyzer/report/render/text.h"

namespace dprof::analyzer {

// One line: the largest peak, where and when.
[[nodiscard]] std::string memory_line(const Report& report);

// Leaks and failed allocations; where it was asked for also peaks, what lay there at the largest,
// fragmentation, and what dividing or recomputing would free.
[[nodiscard]] std::string memory_section(const Report& report, const TextOptions& options,
                                         const Painter& paint);
// Something is wrong with memory.
[[nodiscard]] bool has_memory_trouble(const Report& report);

}  // namespace dprof::analyzer
