// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/kineto/json_scan.h"

#include <bit>
#include <cstring>
#include <optional>

#include "analyzer/import/text.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace dprof::analyzer::kineto {
namespace {

constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

constexpr bool ends_bare(char c) {
  return c == ',' || c == '}' || c == ']' || c == ':' || c == '"' || is_space(c);
}

// First '"' or '\\' from `at` on, or `end`.
const char* find_string_end(const char* at, const char* end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  while (end - at >= 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const int hits = _mm_movemask_epi8(
        _mm_or_si128(_mm_cmpeq_epi8(text, quote), _mm_cmpeq_epi8(text, backslash)));
    if (hits != 0) return at + std::countr_zero(static_cast<unsigned>(hits));
    at += 16;
  }
#endif
  while (at < end && *at != '"' && *at != '\\') ++at;
  return at;
}

// First of "{}[] and '"' from `at` on, or `end`.
const char* find_structure(const char* at, const char* end) {
#if defined(__SSE2__)
  // '[' and '{', and ']' and '}', differ in one bit.
  const __m128i bit = _mm_set1_epi8(0x20);
  const __m128i open = _mm_set1_epi8('{');
  const __m128i close = _mm_set1_epi8('}');
  const __m128i quote = _mm_set1_epi8('"');
  while (end - at >= 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i folded = _mm_or_si128(text, bit);
    const __m128i brackets =
        _mm_or_si128(_mm_cmpeq_epi8(folded, open), _mm_cmpeq_epi8(folded, close));
    const int hits = _mm_movemask_epi8(_mm_or_si128(brackets, _mm_cmpeq_epi8(text, quote)));
    if (hits != 0) return at + std::countr_zero(static_cast<unsigned>(hits));
    at += 16;
  }
#endif
  while (at < end && *at != '"' && (*at | 0x20) != '{' && (*at | 0x20) != '}') ++at;
  return at;
}

// Skips a string after its opening quote; nullptr if the text ends first.
const char* pass_string(const char* at, const char* end, bool& escaped) {
  while (true) {
    at = find_string_end(at, end);
    if (at == end) return nullptr;
    if (*at == '"') return at;
    escaped = true;
    if (end - at < 2) return nullptr;
    at += 2;
  }
}

}  // namespace

char Cursor::peek() {
  while (at_ < end_ && is_space(*at_)) ++at_;
  return at_ == end_ ? '\0' : *at_;
}

char Cursor::peek_past_comma() {
  if (peek() == ',') advance();
  return peek();
}

Scan Cursor::string(Value& out) {
  const char* begin = at_ + 1;
  bool escaped = false;
  const char* close = pass_string(begin, end_, escaped);
  if (close == nullptr) return Scan::kMore;
  out = {{begin, static_cast<size_t>(close - begin)}, Value::Kind::kString, escaped};
  at_ = close + 1;
  return Scan::kDone;
}

Scan Cursor::bare() {
  const char* begin = at_;
  while (at_ < end_ && !ends_bare(*at_)) ++at_;
  if (at_ == end_) return Scan::kMore;
  return at_ == begin ? Scan::kBad : Scan::kDone;
}

// Skips an object or array. Counts brackets without distinguishing their kind.
Scan Cursor::container() {
  int depth = 0;
  while (true) {
    at_ = find_structure(at_, end_);
    if (at_ == end_) return Scan::kMore;
    const char c = *at_++;
    if (c == '"') {
      bool escaped = false;
      const char* close = pass_string(at_, end_, escaped);
      if (close == nullptr) return Scan::kMore;
      at_ = close + 1;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return Scan::kTooDeep;
    } else if (--depth == 0) {
      return Scan::kDone;
    }
  }
}

Scan Cursor::value(Value& out) {
  const char first = peek();
  if (at_ == end_) return Scan::kMore;
  if (first == '"') return string(out);
  const char* begin = at_;
  const bool nested = first == '{' || first == '[';
  if (const Scan scan = nested ? container() : bare(); scan != Scan::kDone) return scan;
  const Value::Kind kind = first == '{'   ? Value::Kind::kObject
                           : first == '[' ? Value::Kind::kArray
                                          : Value::Kind::kBare;
  out = {{begin, static_cast<size_t>(at_ - begin)}, kind, false};
  return Scan::kDone;
}

Scan Cursor::next_key(Value& key, bool& more) {
  char c = peek_past_comma();
  if (at_ == end_) return Scan::kMore;
  more = c != '}';
  if (!more) {
    advance();
    return Scan::kDone;
  }
  if (c != '"') return Scan::kBad;
  if (const Scan scan = string(key); scan != Scan::kDone) return scan;
  c = peek();
  if (at_ == end_) return Scan::kMore;
  if (c != ':') return Scan::kBad;
  advance();
  return Scan::kDone;
}

Scan Cursor::next_element(bool& more) {
  const char c = peek_past_comma();
  if (at_ == end_) return Scan::kMore;
  more = c != ']';
  if (!more) advance();
  return Scan::kDone;
}

namespace {

void append_utf8(std::string& out, uint32_t code) {
  if (code == 0) code = ' ';
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

std::optional<uint32_t> hex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  uint32_t code = 0;
  for (const char c : text.substr(0, 4)) {
    const bool digit = c >= '0' && c <= '9';
    const char low = static_cast<char>(c | 0x20);
    if (!digit && (low < 'a' || low > 'f')) return std::nullopt;
    code = code * 16 + static_cast<uint32_t>(digit ? c - '0' : low - 'a' + 10);
  }
  return code;
}

// `at` is after "\u"; returns the number of characters of `raw` used from there.
size_t append_unicode(std::string_view raw, size_t at, std::string& out) {
  std::optional<uint32_t> code = hex4(raw.substr(at));
  if (!code) {
    out += "\\u";
    return 0;
  }
  constexpr uint32_t kReplacement = 0xFFFD;
  size_t used = 4;
  if (*code >= 0xD800 && *code < 0xDC00 && raw.substr(at + 4).starts_with("\\u")) {
    const std::optional<uint32_t> low = hex4(raw.substr(at + 6));
    if (low && *low >= 0xDC00 && *low < 0xE000) {
      code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
      used = 10;
    }
  }
  append_utf8(out, *code >= 0xD800 && *code < 0xE000 ? kReplacement : *code);
  return used;
}

}  // namespace

std::string unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  size_t at = 0;
  while (at < raw.size()) {
    const char c = raw[at++];
    if (c != '\\' || at == raw.size()) {
      out += c;
      continue;
    }
    const char code = raw[at++];
    constexpr std::string_view kNames = "bfnrt\"\\/";
    constexpr std::string_view kChars = "\b\f\n\r\t\"\\/";
    if (const size_t known = kNames.find(code); known != std::string_view::npos) {
      out += kChars[known];
    } else if (code == 'u') {
      at += append_unicode(raw, at, out);
    } else {
      (out += '\\') += code;
    }
  }
  return clean_utf8(std::move(out));
}

}  // namespace dprof::analyzer::kineto
