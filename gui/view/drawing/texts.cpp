// SPDX-License-Identifier: Apache-2.0
#include "gui/view/drawing/texts.h"

#include <cctype>
#include <optional>
#include <set>

namespace dprof::view {
namespace {

// The only state that is not a session's: the language belongs to the process.
Texts& installed() {
  static Texts texts;
  return texts;
}

// The placeholders of a text: "{}" and "{1:.2f}" of fmt, "%1" of Qt. nullopt = invalid format.
std::optional<std::set<std::string>> placeholders(std::string_view text) {
  std::set<std::string> found;
  int next = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char after = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] == '%' && std::isdigit(static_cast<unsigned char>(after)) != 0) {
      found.insert({'%', after});
    } else if ((text[i] == '{' || text[i] == '}') && after == text[i]) {
      ++i;
    } else if (text[i] == '{') {
      const size_t end = text.find('}', i);
      if (end == std::string_view::npos) return std::nullopt;
      const std::string_view inner = text.substr(i + 1, end - i - 1);
      const std::string number(inner.substr(0, inner.find(':')));
      found.insert(number.empty() ? std::to_string(next++) : number);
      i = end;
    } else if (text[i] == '}') {
      return std::nullopt;
    }
  }
  return found;
}

bool fits(std::string_view text, std::string_view shown) {
  const auto wanted = placeholders(text);
  return wanted && wanted == placeholders(shown);
}

}  // namespace

std::vector<std::string> install_texts(Texts texts) {
  std::vector<std::string> passed_over;
  std::erase_if(texts, [&](const auto& one) {
    if (fits(one.first, one.second)) return false;
    passed_over.push_back(one.first);
    return true;
  });
  installed() = std::move(texts);
  return passed_over;
}

std::string_view translated(std::string_view text) {
  if (installed().empty()) return text;
  const auto found = installed().find(text);
  return found == installed().end() ? text : std::string_view(found->second);
}

std::string say_with(fmt::string_view format, fmt::format_args arguments) {
  const std::string_view english_format(format.data(), format.size());
  const std::string_view shown = translated(english_format);
  if (shown.data() != english_format.data()) {
    try {
      return fmt::vformat({shown.data(), shown.size()}, arguments);
    } catch (const fmt::format_error&) {
      // in English, below
    }
  }
  return fmt::vformat(format, arguments);
}

}  // namespace dprof::view
