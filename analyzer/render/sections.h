// SPDX-License-Identifier: Apache-2.0
// The parts of the text report that follow the findings, by the names that --sections takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dprof::analyzer {

// In the order of the report.
enum class Section : uint8_t {
  kRanks,
  kPhases,
  kMemory,
  kGpu,
  kOverlap,
  kCollectives,
  kBuckets,
  kLinks,
  kMessages,
  kReplay,
  kClocks,
  kUnknown,
};
inline constexpr size_t kSections = 12;
[[nodiscard]] std::string_view word_of(Section section);  // "ranks"

// "ranks,links" of any order; "all"; "none". In the order of the report, each once. An unknown name
// is a usage error that lists those there are.
Result<std::vector<Section>> parse_sections(std::string_view list);

}  // namespace dprof::analyzer
