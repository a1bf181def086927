// SPDX-License-Identifier: Apache-2.0
// The docks below the page, one of which is shown at a time: each tells more about the selection.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gui/view/texts.h"

namespace dprof::view {

enum class Dock : uint8_t { kSelection, kTable, kFlame, kHistogram, kSql, kDiagnostics, kInfo };

struct DockInfo {
  std::string_view word;   // in --view and the dumped state
  std::string_view title;  // of its key's action
  std::string_view key;
};
inline constexpr std::array<DockInfo, 7> kDocks = {{
    {"selection", english("Selection"), "Alt+4"},
    {"table", english("Table"), "Alt+5"},
    {"flame", english("Flame"), "Alt+6"},
    {"histogram", english("Histogram"), "Alt+7"},
    {"sql", english("SQL"), "Alt+8"},
    {"diagnostics", english("Diagnostics"), "Alt+9"},
    {"info", english("Info"), "Alt+0"},
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
