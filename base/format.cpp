// SPDX-License-Identifier: Apache-2.0
#include "base/format.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>

namespace dprof {
namespace {

struct Scale {
  double size;
  const char* unit;
};

// Three significant digits in the largest unit that leaves at least 1 before the decimal point.
std::string scaled(double value, std::span<const Scale> scales) {
  const double magnitude = std::abs(value);
  for (const Scale& scale : scales) {
    // 999.6 would print as "1000": from there on, use the next larger unit.
    if (magnitude < scale.size * 0.9995) continue;
    const double in_unit = value / scale.size;
    const double shown = std::abs(in_unit);
    const int decimals = scale.size <= 1 || shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : 2;
    return fmt::format("{:.{}f} {}", in_unit, decimals, scale.unit);
  }
  return fmt::format("0 {}", scales.back().unit);
}

}  // namespace

std::string format_duration(DurationNs duration) {
  static constexpr std::array<Scale, 4> kScales = {
      {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}};
  return scaled(static_cast<double>(duration.ns), kScales);
}

std::string format_ms(DurationNs duration) {
  return fmt::format("{:.1f} ms", static_cast<double>(duration.ns) / static_cast<double>(kNsPerMs));
}

std::string format_bytes(int64_t bytes) {
  static constexpr std::array<Scale, 5> kScales = {
      {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
  return scaled(static_cast<double>(bytes), kScales);
}

std::string format_count(int64_t count) {
  const std::string digits = fmt::format("{}", count);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    const size_t left = digits.size() - i;
    if (i > 0 && left % 3 == 0 && digits[i - 1] != '-') grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string format_share(double share) {
  const double percent = share * 100;
  return fmt::format("{:.{}f} %", percent, std::abs(percent) < 9.95 ? 1 : 0);
}

}  // namespace dprof
