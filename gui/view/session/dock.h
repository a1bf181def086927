// SPDX-License-Identifier: Apache-2.0
// The docks around the page: each shows more about the run or the selection.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gui/view/drawing/texts.h"

namespace dprof::view {

inline constexpr int kDockMargin = 12;  // around what a dock shows, in pixels

enum class Dock : uint8_t {
  kSelection,
  kTable,
  kFlame,
  kHistogram,
  kSql,
  kDiagnostics,
  kInfo,
  kFindings,
  kDetails,
  kPath
};

enum class DockSide : uint8_t { kBelow, kRight };

struct DockInfo {
  std::string_view word;   // in --view and the dumped state
  std::string_view title;  // on its tab, and for its key's action
  std::string_view key;
  DockSide side;  // share of the page, until the user resizes it
};
inline constexpr std::array<DockInfo, 10> kDocks = {{
    {"selection", english("Selection"), "Alt+4", DockSide::kBelow},
    {"table", english("Table"), "Alt+5", DockSide::kBelow},
    {"flame", english("Flame"), "Alt+6", DockSide::kBelow},
    {"histogram", english("Histogram"), "Alt+7", DockSide::kBelow},
    {"sql", english("SQL"), "Alt+8", DockSide::kBelow},
    {"diagnostics", english("Diagnostics"), "Alt+9", DockSide::kBelow},
    {"info", english("Info"), "Alt+0", DockSide::kBelow},
    {"findings", english("Findings"), "Alt+2", DockSide::kRight},
    {"details", english("Details"), "Alt+3", DockSide::kRight},
    {"path", english("Path"), "Alt+C", DockSide::kRight},
}};

[[nodiscard]] constexpr const DockInfo& info_of(Dock dock) {
  return kDocks[static_cast<size_t>(dock)];
}
[[nodiscard]] constexpr std::optional<Dock> dock_of(std::string_view word) {
  for (size_t d = 0; d < kDocks.size(); ++d) {
    if (kDocks[d].word == word) return static_cast<Dock>(d);
  }
  return std::nullopt;
}

}  // namespace dprof::view
