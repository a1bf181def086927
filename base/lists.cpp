// SPDX-License-Identifier: Apache-2.0
#include "base/lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace dprof {
namespace {

constexpr int kMostRanks = 1 << 20;

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= 0 ? std::optional(value) : std::nullopt;
}

std::optional<double> real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<std::pair<int64_t, int64_t>> parse_half_open(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const std::string_view first = text.substr(0, colon);
    const std::string_view second = text.substr(colon + 1);
    const std::optional<int64_t> from = first.empty() ? 0 : number(first);
    const std::optional<int64_t> to = second.empty() ? INT64_MAX : number(second);
    if (from && to && *from < *to) return std::pair(*from, *to);
  }
  return fail(Code::kUsage, fmt::format("'{}' is not a range of steps", text),
              "A:B means steps A to B, B excluded: --steps 20:120");
}

Result<std::vector<int>> parse_ranks_in_order(std::string_view text) {
  std::vector<int> ranks;
  const Failure bad = fail(Code::kUsage, fmt::format("'{}' is not a list of ranks", text),
                           "separate ranks by commas, write ranges with a dash: --ranks 0,4-7");
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const size_t dash = part.find('-');
    const std::optional<int64_t> first = number(part.substr(0, dash));
    const std::optional<int64_t> last =
        dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *first > *last || *last >= kMostRanks) return bad;
    for (int64_t rank = *first; rank <= *last; ++rank) ranks.push_back(static_cast<int>(rank));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return ranks;
}

Result<std::vector<int>> parse_rank_list(std::string_view text) {
  Result<std::vector<int>> ranks = parse_ranks_in_order(text);
  if (!ranks.ok()) return ranks;
  std::ranges::sort(*ranks);
  ranks->erase(std::unique(ranks->begin(), ranks->end()), ranks->end());
  return ranks;
}

Result<double> parse_percent(std::string_view text) {
  const std::string_view digits = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  const std::optional<double> value = real(digits);
  if (value && *value > 0 && *value <= 100) return *value / 100;
  return fail(Code::kUsage, fmt::format("'{}' is not a percentage", text),
              "above 0, at most 100: --max-overhead 1%");
}

Result<std::chrono::seconds> parse_seconds(std::string_view text) {
  constexpr int64_t kMost = int64_t{366} * 24 * 3600;
  int64_t unit = 1;
  std::string_view digits = text;
  for (const auto& [suffix, seconds] :
       {std::pair('s', 1), std::pair('m', 60), std::pair('h', 3600)}) {
    if (text.empty() || text.back() != suffix) continue;
    unit = seconds;
    digits.remove_suffix(1);
    break;
  }
  const std::optional<int64_t> value = number(digits);
  if (value && *value > 0 && *value <= kMost / unit) return std::chrono::seconds(*value * unit);
  return fail(Code::kUsage, fmt::format("'{}' is not a time", text),
              "seconds, minutes or hours: --hang-after 90s, --hang-after 5m");
}

Result<std::pair<double, double>> parse_pair(std::string_view text) {
  const size_t comma = text.find(',');
  if (comma != std::string_view::npos) {
    const std::optional<double> first = real(text.substr(0, comma));
    const std::optional<double> second = real(text.substr(comma + 1));
    if (first && second) return std::pair(*first, *second);
  }
  return fail(Code::kUsage, fmt::format("'{}' is not two numbers", text),
              "separated by a comma: --fake-clock 0.05,20");
}

}  // namespace dprof
