// SPDX-License-Identifier: Apache-2.0
// Words of a report: widths in characters, wrapping, bars, ranks; nothing that steers a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dprof::analyzer {

// Texts from a trace may hold anything: line ends and tabs become blanks, other control characters
// and broken UTF-8 '?', so that no line is torn and no terminal is steered by them.
[[nodiscard]] std::string printable(std::string_view text);

// Characters that the text takes on a terminal; escape sequences take none.
[[nodiscard]] size_t display_width(std::string_view text);

// Text that was made printable; what is longer loses its end, and shows that: "batch num…".
[[nodiscard]] std::string cut_to(std::string text, size_t width);

[[nodiscard]] std::string pad_right(std::string_view text, size_t width);
[[nodiscard]] std::string pad_left(std::string_view text, size_t width);

// Breaks at blanks so that no line is wider, where words allow that; a number keeps its unit. At
// least one line.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, size_t width);

// "1 rank", "4,812 events".
[[nodiscard]] std::string plural(int64_t count, std::string_view noun);

// A bar of `share` (0…1) of `width` characters, in eighths of one. Empty only for a share that is
// not above 0.
[[nodiscard]] std::string bar(double share, size_t width);
// How many eighths of a character such a bar has, for those who draw it; 0: the text is none.
[[nodiscard]] size_t eighths_of_bar(std::string_view text);

// "0, 3, 5–7": ranks as people write them.
[[nodiscard]] std::string rank_list(std::vector<int> ranks);
[[nodiscard]] std::string ranks_text(const std::vector<int>& ranks);  // "rank 3", "ranks 0-3, 7"

}  // namespace dprof::analyzer
