// SPDX-License-Identifier: Apache-2.0
// Texts for people: English, or another installed language. scripts/gui-texts finds these calls,
// makes gui/texts/dprof_en.ts from their texts, and finds texts without such a call.
//
//   say("{} of {} ranks", shown, all)       as fmt::format does
//   say_count(n, "{} rank", "{} ranks", n)  the first text for 1, the second one for all else
//   translated(english("Matrix"))           a table holds english("…"); it is translated where it
//                                           is drawn
//
// The analyser's texts, selectors and units are not translated.
//
// Threading  install_texts() while nothing else runs; the rest on any thread.
// Cost       without another language that of fmt::format; translated() then costs nothing.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dprof::view {

using Texts = std::map<std::string, std::string, std::less<>>;  // by their English

// Shows these from now on; {} = English. Returns the English of those that are ignored because
// their placeholders differ from the English ones.
std::vector<std::string> install_texts(Texts texts);

// The text to show: `text` itself, or one that lives until others are installed.
[[nodiscard]] std::string_view translated(std::string_view text);

// Marks a text in a table.
consteval std::string_view english(const char* text) { return text; }

// A translation that cannot be formatted is treated as missing.
[[nodiscard]] std::string say_with(fmt::string_view format, fmt::format_args arguments);

template <size_t kSize>
[[nodiscard]] std::string say(const char (&text)[kSize]) {
  return std::string(translated({text, kSize - 1}));
}

template <typename First, typename... Rest>
[[nodiscard]] std::string say(fmt::format_string<First, Rest...> format, First&& first,
                              Rest&&... rest) {
  return say_with(format, fmt::make_format_args(first, rest...));
}

template <std::integral Count, typename First, typename... Rest>
[[nodiscard]] std::string say_count(Count count, fmt::format_string<First, Rest...> one,
                                    fmt::format_string<First, Rest...> many, First&& first,
                                    Rest&&... rest) {
  return say_with(count == 1 ? one : many, fmt::make_format_args(first, rest...));
}

}  // namespace dprof::view
