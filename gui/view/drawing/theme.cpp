// SPDX-License-Identifier: Apache-2.0
#include "gui/view/drawing/theme.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dprof::view {
namespace {

using analyzer::Category;

constexpr Rgb hex(uint32_t value) {
  return {static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 8),
          static_cast<uint8_t>(value)};
}

// Safe for colour-blind people (after Okabe and Ito); the same in both themes, so that each
// category keeps its colour.
constexpr void set_categories(Theme& theme) {
  const auto set = [&](Category category, uint32_t value) {
    theme.colours[static_cast<size_t>(category)] = hex(value);
  };
  set(Category::kForward, 0x56B4E9);
  set(Category::kBackward, 0x0072B2);
  set(Category::kOptimizer, 0x009E73);
  set(Category::kOtherCompute, 0x7C93AB);
  set(Category::kOverlapped, 0x7C93AB);
  set(Category::kExposedWait, 0xE69F00);
  set(Category::kExposedTransfer, 0xE69F00);
  set(Category::kCopy, 0x8C6BB1);
  set(Category::kInputWait, 0xCC79A7);
  set(Category::kAllocator, 0x8C6BB1);
}

constexpr Theme make_light() {
  Theme theme{.name = "light"};
  set_categories(theme);
  const auto set = [&](auto role, uint32_t value) {
    theme.colours[static_cast<size_t>(role)] = hex(value);
  };
  set(Category::kSyncBubble, 0xC3CAD3);
  set(Category::kHost, 0xBFC7D1);
  set(Category::kLaunch, 0xCDD4DC);
  set(Category::kDependency, 0xD5DAE1);
  set(Category::kIdle, 0xE7EAEE);
  set(Category::kProfiler, 0xD9C9BE);
  set(Role::kWindow, 0xF6F7F9);
  set(Role::kCanvas, 0xFFFFFF);
  set(Role::kLaneBackground, 0xFAFBFC);
  set(Role::kCard, 0xFFFFFF);
  set(Role::kBorder, 0xDFE3E8);
  set(Role::kStepLine, 0x7B838E);
  set(Role::kText, 0x1B1F24);
  set(Role::kTextDim, 0x59616C);
  set(Role::kTextFaint, 0x8B939E);
  set(Role::kAccent, 0x0B6BB0);
  set(Role::kAccentSoft, 0xDCE9F6);
  set(Role::kProblem, 0xBF4A00);
  set(Role::kProblemSoft, 0xF7E0D2);
  set(Role::kWarn, 0xE69F00);
  set(Role::kWarnText, 0x8A5A00);
  set(Role::kInfo, 0x8C6BB1);
  set(Role::kInfoText, 0x7350A0);
  set(Role::kUtilisation, 0x7FB2D8);
  set(Role::kBrush, 0x0B6BB0);
  set(Role::kField, 0xFFFFFF);
  set(Role::kShadow, 0xD3D8DE);
  return theme;
}

constexpr Theme make_dark() {
  Theme theme{.name = "dark"};
  set_categories(theme);
  const auto set = [&](auto role, uint32_t value) {
    theme.colours[static_cast<size_t>(role)] = hex(value);
  };
  set(Category::kSyncBubble, 0x575E69);
  set(Category::kHost, 0x5A626D);
  set(Category::kLaunch, 0x4E5560);
  set(Category::kDependency, 0x474E58);
  set(Category::kIdle, 0x3A3F47);
  set(Category::kProfiler, 0x5F524A);
  set(Role::kWindow, 0x1E2126);
  set(Role::kCanvas, 0x17191D);
  set(Role::kLaneBackground, 0x1B1E22);
  set(Role::kCard, 0x24282E);
  set(Role::kBorder, 0x33383F);
  set(Role::kStepLine, 0x9AA2AD);
  set(Role::kText, 0xF0F2F5);
  set(Role::kTextDim, 0xA6AEB9);
  set(Role::kTextFaint, 0x777F8A);
  set(Role::kAccent, 0x3D9BE0);
  set(Role::kAccentSoft, 0x1D3550);
  set(Role::kProblem, 0xF07A2C);
  set(Role::kProblemSoft, 0x4A3022);
  set(Role::kWarn, 0xE69F00);
  set(Role::kWarnText, 0xF0B030);
  set(Role::kInfo, 0x9F80C4);
  set(Role::kInfoText, 0xB9A0D8);
  set(Role::kUtilisation, 0x336C96);
  set(Role::kBrush, 0x3D9BE0);
  set(Role::kField, 0x17191D);
  set(Role::kShadow, 0x101215);
  return theme;
}

constexpr Theme kLight = make_light();
constexpr Theme kDark = make_dark();

constexpr std::array<std::string_view, kRoles - analyzer::kCategories> kRoleWords = {
    "window",       "canvas",   "lane_background", "card",   "border",      "step_line",
    "text",         "text_dim", "text_faint",      "accent", "accent_soft", "problem",
    "problem_soft", "warn",     "warn_text",       "info",   "info_text",   "utilisation",
    "brush",        "field",    "shadow"};

double linear(uint8_t channel) {
  const double value = channel / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

}  // namespace

std::string word_of(Role role) {
  if (is_category(role)) {
    return fmt::format("category:{}", analyzer::key_of(static_cast<Category>(role)));
  }
  return std::string(kRoleWords.at(static_cast<size_t>(role) - analyzer::kCategories));
}

const Theme& light_theme() { return kLight; }
const Theme& dark_theme() { return kDark; }

Rgb mixed(Rgb a, Rgb b, int share) {
  const auto mix = [share](int from, int to) {
    return static_cast<uint8_t>(from + (to - from) * share / 255);
  };
  return {mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b)};
}

double luminance(Rgb colour) {
  return 0.2126 * linear(colour.r) + 0.7152 * linear(colour.g) + 0.0722 * linear(colour.b);
}

double contrast(Rgb a, Rgb b) {
  const double first = luminance(a);
  const double second = luminance(b);
  return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

Rgb label_on(Rgb fill) {
  constexpr Rgb kDarkText{0, 0, 0};  // softer ones have too little contrast on middle tones
  constexpr Rgb kLightText{0xFF, 0xFF, 0xFF};
  return contrast(fill, kLightText) >= 4.5 ? kLightText : kDarkText;
}

}  // namespace dprof::view
