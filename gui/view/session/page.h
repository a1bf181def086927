// SPDX-License-Identifier: Apache-2.0
// The window's pages, one of which is shown at a time; range and selection are common to all.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gui/view/drawing/texts.h"

namespace dprof::view {

enum class Page : uint8_t {
  kOverview,
  kTimeline,
  kHeatmap,
  kCollectives,
  kMatrix,
  kMemory,
  kCompare,
  kWhatIf,
  kTopology
};

struct PageInfo {
  std::string_view word;   // in selectors, --view and the dumped state
  std::string_view title;  // on its tab
};
inline constexpr std::array<PageInfo, 9> kPages = {{
    {"overview", english("Overview")},
    {"timeline", english("Timeline")},
    {"heatmap", english("Ranks × steps")},
    {"collectives", english("Collectives")},
    {"matrix", english("Matrix")},
    {"memory", english("Memory")},
    {"compare", english("Compare")},
    {"what-if", english("What if")},
    {"topology", english("Topology")},
}};

[[nodiscard]] constexpr const PageInfo& info_of(Page page) {
  return kPages[static_cast<size_t>(page)];
}
[[nodiscard]] constexpr std::optional<Page> page_of(std::string_view word) {
  for (size_t p = 0; p < kPages.size(); ++p) {
    if (kPages[p].word == word) return static_cast<Page>(p);
  }
  if (word == "tracks") return Page::kTimeline;  // the docks are beside it
  return std::nullopt;
}

}  // namespace dprof::view
