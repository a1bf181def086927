// SPDX-License-Identifier: Apache-2.0
// Scans JSON text that can be truncated or sloppy, without copying and without recursion. Sloppy
// means what tools really write: trailing commas, NaN and inf, raw control characters and unknown
// escapes in strings, bare words as values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dprof::analyzer::kineto {

enum class Scan : uint8_t {
  kDone,
  kMore,     // the text ends too early
  kBad,      // invalid JSON
  kTooDeep,  // more than kMaxDepth levels
};

inline constexpr int kMaxDepth = 512;

// A value as it is in the text; strings without their quotes, but with their escapes.
struct Value {
  enum class Kind : uint8_t { kNone, kString, kBare, kObject, kArray };  // kBare: number, null, …
  std::string_view raw;
  Kind kind = Kind::kNone;
  bool escaped = false;  // a string that contains a backslash

  [[nodiscard]] bool there() const { return kind != Kind::kNone; }
  // A string, or a bare word: numbers occur in both forms.
  [[nodiscard]] bool scalar() const { return kind == Kind::kString || kind == Kind::kBare; }
};

// Position in a text. After anything but kDone the position is undefined.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  [[nodiscard]] const char* at() const { return at_; }
  [[nodiscard]] bool at_end() const { return at_ == end_; }

  // Skips white space; 0 at the end of the text.
  char peek();
  void advance() { ++at_; }

  Scan string(Value& out);  // at '"'
  Scan value(Value& out);   // at its first character

  // Walks over the members of an object, or the elements of an array. Begin with enter(); then
  // call next_key() (next_element()) until `more` is false; read each value in between.
  Scan enter() {
    ++at_;
    return Scan::kDone;
  }
  Scan next_key(Value& key, bool& more);
  Scan next_element(bool& more);

 private:
  char peek_past_comma();
  Scan container();
  Scan bare();

  const char* at_;
  const char* end_;
};

// The text of a string, as UTF-8 without NUL.
std::string unescape(std::string_view raw);

}  // namespace dprof::analyzer::kineto
