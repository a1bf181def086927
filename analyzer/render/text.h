// SPDX-License-Identifier: Apache-2.0
// The report as text: what happened, how a step is spent, the findings, supporting sections, and
// what is unknown.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/report.h"
#include "base/result.h"

namespace dprof::analyzer {

// The sections after the findings, in the order of the report. kHang comes before them; asked for
// alone, only the head is beside it.
enum class Section : uint8_t {
  kHang,
  kRanks,
  kPhases,
  kMemory,
  kGpu,
  kEnergy,
  kOverlap,
  kCollectives,
  kBuckets,
  kLinks,
  kMessages,
  kReplay,
  kWhatIf,
  kCriticalPath,
  kClocks,
  kUnknown,
};
inline constexpr size_t kSections = 16;
[[nodiscard]] std::string_view word_of(Section section);            // "ranks"
[[nodiscard]] std::string section_words(std::string_view between);  // all of them

// "ranks,links" in any order; "all"; "none". Result in the order of the report, without duplicates.
// An unknown name is a usage error that lists the valid ones.
Result<std::vector<Section>> parse_sections(std::string_view list);

struct TextOptions {
  int width = 100;      // columns; limited to 80 to 120
  bool colour = false;  // terminal escape sequences
  int top = 8;          // findings, and collectives, that are shown
  // The sections after the findings, in full; nullopt: a short default selection.
  std::optional<std::vector<Section>> sections = {};
  std::vector<Section> besides = {};  // in full, in addition to the default
};

[[nodiscard]] inline bool is_asked_for(const TextOptions& options, Section section) {
  return std::ranges::count(options.besides, section) > 0 ||
         (options.sections && std::ranges::count(*options.sections, section) > 0);
}

// UTF-8, lines ended by '\n', no trailing blanks.
[[nodiscard]] std::string render_text(const Report& report, const TextOptions& options = {});

}  // namespace dprof::analyzer
