// SPDX-License-Identifier: Apache-2.0
// The purposes of colours (roles), and their values in the light and the dark theme. Draw lists
// name only roles, so they depend on neither theme nor screen.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/report/report.h"

namespace dprof::view {

// The first roles are the categories of time, in the order of analyzer::Category.
enum class Role : uint8_t {
  kFirstCategory = 0,
  kWindow = analyzer::kCategories,  // panels
  kCanvas,                          // behind lanes
  kLaneBackground,
  kCard,
  kBorder,
  kStepLine,
  kText,
  kTextDim,
  kTextFaint,  // not essential: ticks, separators
  kAccent,
  kAccentSoft,  // selected rows
  kProblem,
  kProblemSoft,
  kWarn,
  kWarnText,
  kInfo,
  kInfoText,
  kUtilisation,
  kBrush,
  kField,
  kShadow,
  kCount,
};
inline constexpr size_t kRoles = static_cast<size_t>(Role::kCount);

[[nodiscard]] constexpr Role role_of(analyzer::Category category) {
  return static_cast<Role>(category);
}
[[nodiscard]] constexpr bool is_category(Role role) {
  return static_cast<size_t>(role) < analyzer::kCategories;
}
// "category:forward", "text_dim": for dumps of draw lists.
[[nodiscard]] std::string word_of(Role role);

struct Rgb {
  uint8_t r = 0, g = 0, b = 0;
  friend constexpr bool operator==(Rgb, Rgb) = default;
};

struct Theme {
  std::string_view name;
  std::array<Rgb, kRoles> colours{};
  [[nodiscard]] Rgb of(Role role) const { return colours[static_cast<size_t>(role)]; }
};
[[nodiscard]] const Theme& light_theme();
[[nodiscard]] const Theme& dark_theme();

// `a` with `share` (0…255) of `b`.
[[nodiscard]] Rgb mixed(Rgb a, Rgb b, int share);
// Relative luminance and contrast as WCAG 2 defines them (1…21).
[[nodiscard]] double luminance(Rgb colour);
[[nodiscard]] double contrast(Rgb a, Rgb b);
// Black or near-white, whichever reads better on `fill`: always 4.5 : 1 or more.
[[nodiscard]] Rgb label_on(Rgb fill);

}  // namespace dprof::view
