// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/json_text.h"

#include <algorithm>
#include <charconv>

#include "analyzer/import/text.h"

namespace dprof::analyzer {
namespace {

bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x80 &&
         c != '"' && c != '\\';
}

void append_escaped(std::string& json, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (byte < 0x20) {
      json += "\\u00";
      json += kHex[byte >> 4];
      json += kHex[byte & 15];
    } else {
      json += c;
    }
  }
}

}  // namespace

void append_json_text(std::string& json, std::string_view text) {
  json += '"';
  if (std::ranges::all_of(text, is_plain)) {
    json += text;
  } else {
    append_escaped(json, clean_utf8(std::string(text)));
  }
  json += '"';
}

void append_number(std::string& text, int64_t number) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  text.append(digits, end);
}

void append_microseconds(std::string& text, int64_t ns, int decimals) {
  uint64_t size = static_cast<uint64_t>(ns);
  if (ns < 0) {
    text += '-';
    size = 0 - size;
  }
  append_number(text, static_cast<int64_t>(size / 1000));
  const auto rest = static_cast<int>(size % 1000);
  const int needed = rest == 0 ? 0 : rest % 100 == 0 ? 1 : rest % 10 == 0 ? 2 : 3;
  const int shown = std::max(decimals, needed);
  if (shown == 0) return;
  text += '.';
  const int digits[] = {rest / 100, rest / 10 % 10, rest % 10};
  for (int i = 0; i < shown; ++i) text += static_cast<char>('0' + (i < 3 ? digits[i] : 0));
}

}  // namespace dprof::analyzer
