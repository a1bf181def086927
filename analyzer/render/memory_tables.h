// SPDX-License-Identifier: Apache-2.0
// What the text report says of memory. Each is "" where nothing is known of it.
#pragma once

#include <string>
#include <vector>

#include "analyzer/render/layout.h"
#include "analyzer/render/text.h"

namespace dprof::analyzer {

// One line: the largest peak, where and when.
[[nodiscard]] std::string memory_line(const Report& report);

// Leaks and failed allocations; where it was asked for also peaks, what lay there at the largest,
// fragmentation, and what dividing or recomputing would free.
[[nodiscard]] std::string memory_section(const Report& report, const TextOptions& options,
                                         const Painter& paint);
// What is wrong, and what else there is to say: a sentence each.
[[nodiscard]] std::vector<std::string> memory_troubles(const Memory& memory);
[[nodiscard]] std::vector<std::string> memory_remarks(const Memory& memory);
// The one with the largest peak; of devices, if there are any. nullptr: no peak is known.
[[nodiscard]] const RankMemory* largest_peak(const Memory& memory);
// "step 12, backward"; "" = unknown.
[[nodiscard]] std::string peak_moment(const RankMemory& memory);
// Something is wrong with memory.
[[nodiscard]] bool has_memory_trouble(const Report& report);

}  // namespace dprof::analyzer
