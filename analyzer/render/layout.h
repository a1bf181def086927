// SPDX-License-Identifier: Apache-2.0
// Text layout of a report: widths in characters, wrapping, bars, ranks; without terminal control.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dprof::analyzer {

// Makes text from a trace safe: line ends and tabs become blanks, other control characters and
// invalid UTF-8 '?', so that it cannot break lines or control the terminal.
[[nodiscard]] std::string printable(std::string_view text);

// Width of the text on a terminal, in characters; escape sequences have none.
[[nodiscard]] size_t display_width(std::string_view text);

// Truncates printable text and marks the cut: "batch num…".
[[nodiscard]] std::string cut_to(std::string text, size_t width);

[[nodiscard]] std::string pad_right(std::string_view text, size_t width);
[[nodiscard]] std::string pad_left(std::string_view text, size_t width);

// Breaks at blanks so that no line is wider, if the words allow it; a number stays with its unit.
// At least one line.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, size_t width);

// "1 rank", "4,812 events".
[[nodiscard]] std::string plural(int64_t count, std::string_view noun);

// A bar of `share` (0…1) of `width` characters, in eighths of one. Empty only if `share` is not
// above 0.
[[nodiscard]] std::string bar(double share, size_t width);
// The length of such a bar in eighths of a character, for graphical output; 0: the text is no bar.
[[nodiscard]] size_t eighths_of_bar(std::string_view text);

// "0, 3, 5–7": ranks as people write them.
[[nodiscard]] std::string rank_list(std::vector<int> ranks);
[[nodiscard]] std::string ranks_text(const std::vector<int>& ranks);  // "rank 3", "ranks 0-3, 7"

}  // namespace dprof::analyzer
