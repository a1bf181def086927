// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/common/text.h"

#include <cstdint>

namespace dprof::recorder {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Length of the valid UTF-8 character at the start of `text`; 0 if there is none.
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  uint32_t code = first & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return overlong || surrogate || code > 0x10FFFF ? 0 : length;
}

}  // namespace

std::string clean_text(std::string_view text_untrusted) {
  std::string clean;
  clean.reserve(text_untrusted.size());
  while (!text_untrusted.empty()) {
    const size_t length = character_length(text_untrusted);
    clean += length == 0 ? kReplacement : text_untrusted.substr(0, length);
    text_untrusted.remove_prefix(length == 0 ? 1 : length);
  }
  return clean;
}

}  // namespace dprof::recorder
