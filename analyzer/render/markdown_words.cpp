// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/markdown_words.h"

#include <fmt/format.h>

#include "analyzer/render/layout.h"

namespace dprof::analyzer {

std::string escaped_markdown(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*_{}[]#|<>~@&";
  std::string safe;
  for (const char c : printable(text)) {
    if (kMarkup.find(c) != std::string_view::npos) safe += '\\';
    safe += c;
  }
  return safe;
}

std::string escaped_html(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*_{}[]#|<>~@&\"'";
  std::string safe;
  for (const char c : printable(text)) {
    if (kMarkup.find(c) == std::string_view::npos) {
      safe += c;
    } else {
      safe += fmt::format("&#{};", static_cast<int>(c));
    }
  }
  return safe;
}

}  // namespace dprof::analyzer
