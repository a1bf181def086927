// SPDX-License-Identifier: Apache-2.0
#include "base/symbol.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace dprof {
namespace {

constexpr std::string_view kMangled = "_Z";
constexpr std::string_view kReturnsNothing = "void ";
constexpr std::string_view kNoise[] = {"(anonymous namespace)::", "<unnamed>::", "at::native::"};

void erase_all(std::string& text, std::string_view part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at))
    text.erase(at, part.size());
}

// Start of the function's own parameter list, not of one inside its template arguments.
size_t end_of_name(std::string_view text) {
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '<') ++depth;
    if (text[at] == '>') --depth;
    if (text[at] == '(' && depth == 0 && at > 0) return at;
  }
  return text.size();
}

}  // namespace

std::string demangled(std::string_view name) {
  std::string text(name);
  if (!name.starts_with(kMangled)) return text;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> found(
      abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && found ? std::string(found.get()) : text;
}

std::string kernel_title(std::string_view name) {
  std::string title = demangled(name);
  for (const std::string_view part : kNoise) erase_all(title, part);
  if (title.starts_with(kReturnsNothing)) title.erase(0, kReturnsNothing.size());
  title.resize(end_of_name(title));
  return title;
}

}  // namespace dprof
