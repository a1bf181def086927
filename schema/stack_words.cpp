// SPDX-License-Identifier: Apache-2.0
#include "schema/stack_words.h"

#include <algorithm>
#include <string_view>

namespace dprof::schema {
namespace {

constexpr size_t kMostFrames = 3;
constexpr size_t kLongestFunction = 80;  // templates have no end

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The program waits there; its callers show what it waits for.
bool is_of_the_c_library(std::string_view file) {
  const std::string_view name = last_part(file);
  return name.starts_with("libc.so") || name.starts_with("libpthread.so") ||
         name.starts_with("ld-linux");
}

// "Trainer::run" from "app::(anonymous namespace)::Trainer<int, a::b>::run(long) const": without
// arguments, and only the last two parts of the qualified name.
std::string short_name(std::string_view function) {
  std::string kept;
  size_t depth = 0;  // of brackets
  constexpr std::string_view kNameless = "(anonymous namespace)";
  for (size_t i = 0; i < function.size(); ++i) {
    if (function.substr(i).starts_with(kNameless)) {
      i += kNameless.size() - 1;
      continue;
    }
    const char c = function[i];
    if (c == '(' && depth == 0) break;
    if (c == '<' && i > 0) ++depth;
    if (depth == 0) kept += c;
    if (c == '>' && depth > 0) --depth;
  }
  const size_t last = kept.rfind("::");
  const size_t before =
      last == std::string::npos || last == 0 ? std::string::npos : kept.rfind("::", last - 1);
  return before == std::string::npos ? kept : kept.substr(before + 2);
}

std::string place_words(const StackPlace& place) {
  std::string words =
      place.kind == StackKind::kNative ? short_name(place.function) : place.function;
  if (words.size() > kLongestFunction) words = words.substr(0, kLongestFunction) + "…";
  if (place.file.empty()) return words;
  words += " (" + std::string(last_part(place.file));
  if (place.line) words += ":" + std::to_string(*place.line);
  return words + ")";
}

}  // namespace

std::string words_of_stack(std::span<const StackPlace> frames) {
  const bool python = std::ranges::count(frames, StackKind::kPython, &StackPlace::kind) != 0;
  std::string words;
  size_t named = 0;
  for (const StackPlace& place : frames) {
    if ((place.kind == StackKind::kPython) != python || place.function.empty()) continue;
    if (!python && (is_of_the_c_library(place.file) || place.function.starts_with("0x"))) continue;
    words += (named == 0 ? "" : ", called by ") + place_words(place);
    if (++named == kMostFrames) break;
  }
  return words;
}

}  // namespace dprof::schema
