// SPDX-License-Identifier: Apache-2.0
// Laying out text for a terminal: widths in characters, colour, wrapping, bars and tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dprof::analyzer {

// How the text report is laid out.
inline constexpr size_t kIndent = 2;      // of a section's lines
inline constexpr size_t kTextIndent = 5;  // of the text below a finding's number
inline constexpr size_t kMostRanks = 16;  // that a table lists

enum class Style : uint8_t { kPlain, kStrong, kFaint, kGood, kWarn, kBad, kBar, kAccent };

// Puts terminal colours around texts, or nothing.
class Painter {
 public:
  explicit Painter(bool colour) : colour_(colour) {}
  [[nodiscard]] std::string operator()(Style style, std::string_view text) const;

 private:
  bool colour_;
};

// Texts from a trace may hold anything: line ends and tabs become blanks, other control characters
// and broken UTF-8
// '?', so that no line is torn and no terminal is steered by them.
[[nodiscard]] std::string printable(std::string_view text);

// Characters that the text takes on a terminal; escape sequences of Painter take none.
[[nodiscard]] size_t display_width(std::string_view text);

// Text that was made printable; what is longer loses its end, and shows that: "batch num…".
[[nodiscard]] std::string cut_to(std::string text, size_t width);

[[nodiscard]] std::string pad_right(std::string_view text, size_t width);
[[nodiscard]] std::string pad_left(std::string_view text, size_t width);

// Breaks at blanks so that no line is wider, where words allow that; a number keeps its unit. At
// least one line.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, size_t width);

// Wrapped text, each line behind `indent` blanks, the first one behind `lead`, which is as wide.
[[nodiscard]] std::string paragraph_of(std::string_view lead, std::string_view text, size_t indent,
                                       size_t width, const Painter& paint, Style style);

// "1 rank", "4,812 events".
[[nodiscard]] std::string plural(int64_t count, std::string_view noun);

// A bar of `share` (0…1) of `width` characters, in eighths of one. Empty only for a share that is
// not above 0.
[[nodiscard]] std::string bar(double share, size_t width);

// "0, 3, 5–7": ranks as people write them.
[[nodiscard]] std::string rank_list(std::vector<int> ranks);
[[nodiscard]] std::string ranks_text(const std::vector<int>& ranks);  // "rank 3", "ranks 0-3, 7"

// A table whose columns are as wide as their widest cell.
class TextTable {
 public:
  enum class Align : uint8_t { kLeft, kRight };

  void add_column(std::string title, Align align) { columns_.push_back({std::move(title), align}); }
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // Each line ends with a newline and has no trailing blanks. Titles are faint.
  [[nodiscard]] std::string render(size_t indent, const Painter& paint) const;
  [[nodiscard]] size_t width() const;

 private:
  struct Column {
    std::string title;
    Align align;
  };
  [[nodiscard]] std::vector<size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Removes blanks at the ends of lines, also before a final colour sequence.
[[nodiscard]] std::string without_trailing_blanks(std::string_view text);

}  // namespace dprof::analyzer
