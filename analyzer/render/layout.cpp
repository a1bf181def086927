// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.h"

namespace dprof::analyzer {
namespace {

// Length of the UTF-8 sequence that begins at `at`; 0 if it is incomplete or invalid.
size_t sequence_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = at + 1; i < at + length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  const bool c1 = first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
  return first < 0x20 || first == 0x7f || c1;
}

// A number and its unit, a value and its ± bound.
bool belong_together(std::string_view before, std::string_view word) {
  if (before.ends_with("±") || word.starts_with("±")) return true;
  while (!word.empty() && std::string_view(".,;:)").find(word.back()) != std::string_view::npos) {
    word.remove_suffix(1);
  }
  static constexpr std::array<std::string_view, 6> kUnits = {"s", "ms", "µs", "ns", "%", "steps/s"};
  return std::ranges::count(kUnits, word) > 0 &&
         before.find_first_of("0123456789") != std::string_view::npos;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequence_length(text, at);
    const bool keep = length > 0 && !is_control(text.substr(at, length));
    const bool blank = text[at] == '\n' || text[at] == '\t';
    result += keep ? text.substr(at, length) : blank ? " " : "?";
    at += std::max<size_t>(1, length);
  }
  return result;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\x1b') {
      at = std::min(text.size(), text.find('m', at)) + 1;
      continue;
    }
    const bool continues = (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
    width += continues ? 0 : 1;
    ++at;
  }
  return width;
}

std::string cut_to(std::string text, size_t width) {
  if (display_width(text) <= width) return text;
  while (!text.empty() && display_width(text) >= width) {
    size_t last = text.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0U) == 0x80U) --last;
    text.resize(last);
  }
  return text + "…";
}

std::string pad_right(std::string_view text, size_t width) {
  const size_t has = display_width(text);
  return std::string(text) + std::string(width > has ? width - has : 0, ' ');
}

std::string pad_left(std::string_view text, size_t width) {
  const size_t has = display_width(text);
  return std::string(width > has ? width - has : 0, ' ') + std::string(text);
}

std::vector<std::string> wrapped(std::string_view text, size_t width) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.size(), text.find(' ', at));
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (!words.empty() && belong_together(words.back(), word)) {
      words.back() += fmt::format(" {}", word);
    } else {
      words.emplace_back(word);
    }
  }
  std::vector<std::string> lines(1);
  for (const std::string& word : words) {
    std::string& line = lines.back();
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(word);
    } else {
      line += fmt::format("{}{}", line.empty() ? "" : " ", word);
    }
  }
  return lines;
}

std::string plural(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

std::string bar(double share, size_t width) {
  static constexpr std::array<std::string_view, 8> kEighths = {"",  "▏", "▎", "▍",
                                                               "▌", "▋", "▊", "▉"};
  if (!(share > 0)) return {};
  const double eighths = std::round(std::min(share, 1.0) * static_cast<double>(width) * 8);
  const auto count = std::max<size_t>(1, static_cast<size_t>(eighths));
  std::string text;
  for (size_t i = 0; i < count / 8; ++i) text += "█";
  return text + std::string(kEighths[count % 8]);
}

size_t eighths_of_bar(std::string_view text) {
  constexpr std::string_view kBlock = "\xE2\x96";  // and 0x88 for a full block … 0x8F for an eighth
  size_t eighths = 0;
  for (; !text.empty(); text.remove_prefix(3)) {
    if (text.size() < 3 || !text.starts_with(kBlock)) return 0;
    const auto last = static_cast<unsigned char>(text[2]);
    if (last < 0x88 || last > 0x8F) return 0;
    eighths += 0x90U - last;
  }
  return eighths;
}

std::string rank_list(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  std::string text;
  for (size_t at = 0; at < ranks.size();) {
    size_t last = at;
    while (last + 1 < ranks.size() && ranks[last + 1] <= ranks[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += fmt::to_string(ranks[at]);
    if (ranks[last] == ranks[at] + 1) text += fmt::format(", {}", ranks[last]);
    if (ranks[last] > ranks[at] + 1) text += fmt::format("–{}", ranks[last]);
    at = last + 1;
  }
  return text;
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", rank_list(ranks));
}

}  // namespace dprof::analyzer
