// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/text.h"

#include <string_view>

namespace dprof::analyzer {
namespace {

// Length of the UTF-8 sequence at `at`; 0 = invalid.
size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first < 0xF0) {
    const bool sound = follows(1) && follows(2) && !(first == 0xE0 && byte(1) < 0xA0) &&
                       !(first == 0xED && byte(1) >= 0xA0);
    return sound ? 3 : 0;
  }
  if (first >= 0xF0 && first < 0xF5) {
    const bool sound = follows(1) && follows(2) && follows(3) &&
                       !(first == 0xF0 && byte(1) < 0x90) && !(first == 0xF4 && byte(1) >= 0x90);
    return sound ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string clean_utf8(std::string text) {
  size_t at = 0;
  while (at < text.size() && text[at] > 0) ++at;
  if (at == text.size()) return text;
  std::string clean = text.substr(0, at);
  while (at < text.size()) {
    const size_t length = text[at] == '\0' ? 0 : utf8_length(text, at);
    if (length == 0) {
      clean += text[at] == '\0' ? " " : "\xEF\xBF\xBD";
      ++at;
    } else {
      clean.append(text, at, length);
      at += length;
    }
  }
  return clean;
}

}  // namespace dprof::analyzer
