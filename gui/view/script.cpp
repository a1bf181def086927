// SPDX-License-Identifier: Apache-2.0
// untranslated file: what a command line and its log say is English
#include "gui/view/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "analyzer/replay/change.h"
#include "gui/view/session/dock.h"
#include "gui/view/session/page.h"

namespace dprof::view {
namespace {

using PlainJson = nlohmann::json;

constexpr std::array<std::string_view, 14> kVerbs = {
    "view",    "select", "add",       "key",    "search",     "sql",        "note",
    "what-if", "why",    "wait-idle", "assert", "screenshot", "dump-state", "dump-draw-list"};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string_view without_comment(std::string_view line) {
  line = trimmed(line);
  if (line.starts_with('#')) return {};
  return trimmed(line.substr(0, line.find(" #")));
}

// The text up to a blank, and the rest after it.
std::pair<std::string_view, std::string_view> first_word(std::string_view text) {
  const size_t end = std::min(text.find_first_of(" \t"), text.size());
  return {text.substr(0, end), trimmed(text.substr(end))};
}

enum class Comparison : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kMore,
  kMoreEqual,
  kContains
};
constexpr std::array<std::string_view, 7> kComparisons = {
    "==", "!=", "<", "<=", ">", ">=", "contains"};

// NOLINTNEXTLINE(bugprone-exception-escape): moving a json does not throw
struct Assertion {
  std::string_view path;
  Comparison comparison{};
  PlainJson value;
};

std::optional<Assertion> parse_assertion(std::string_view text) {
  Assertion assertion;
  const auto [path, rest] = first_word(trimmed(text));
  const auto [word, value] = first_word(rest);
  const auto comparison = std::ranges::find(kComparisons, word);
  if (path.empty() || comparison == kComparisons.end() || value.empty()) return std::nullopt;
  assertion.path = path;
  assertion.comparison = static_cast<Comparison>(comparison - kComparisons.begin());
  assertion.value = PlainJson::parse(value, nullptr, /*allow_exceptions=*/false);
  if (assertion.value.is_discarded()) assertion.value = std::string(value);  // a bare word
  return assertion;
}

// "selection.ranks", "rows.0.track"; nullptr = not there.
const PlainJson* find(const PlainJson& state, std::string_view path) {
  const PlainJson* at = &state;
  while (!path.empty()) {
    const size_t end = std::min(path.find('.'), path.size());
    const std::string part(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
    if (at->is_array()) {
      size_t index = 0;
      const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), index);
      if (error != std::errc() || stop != part.data() + part.size() || index >= at->size())
        return nullptr;
      at = &(*at)[index];
    } else if (at->is_object() && at->contains(part)) {
      at = &(*at)[part];
    } else {
      return nullptr;
    }
  }
  return at;
}

bool holds(const PlainJson& found, const Assertion& assertion) {
  switch (assertion.comparison) {
    case Comparison::kEqual:
      return found == assertion.value;
    case Comparison::kNotEqual:
      return found != assertion.value;
    case Comparison::kLess:
      return found < assertion.value;
    case Comparison::kLessEqual:
      return found <= assertion.value;
    case Comparison::kMore:
      return found > assertion.value;
    case Comparison::kMoreEqual:
      return found >= assertion.value;
    case Comparison::kContains:
      if (found.is_string() && assertion.value.is_string())
        return found.get<std::string>().find(assertion.value.get<std::string>()) !=
               std::string::npos;
      return found.is_array() && std::ranges::find(found, assertion.value) != found.end();
  }
  return false;
}

// "" = the argument is valid for the verb.
std::string complaint(ScriptVerb verb, std::string_view argument) {
  const bool needs_none = verb == ScriptVerb::kWaitIdle || verb == ScriptVerb::kWhy;
  if (argument.empty() && !needs_none) return "an argument is missing";
  if (verb == ScriptVerb::kView && !page_of(argument) && !dock_of(argument))
    return fmt::format("'{}' is neither page nor dock", argument);
  if (verb == ScriptVerb::kWhatIf) {
    if (const auto change = analyzer::parse_change(argument); !change.ok())
      return change.error().what;
  }
  if (verb == ScriptVerb::kAssert && !parse_assertion(argument))
    return fmt::format("'{}' is no assertion like selection.ranks == [5]", argument);
  return {};
}

}  // namespace

Result<std::vector<ScriptLine>> parse_script(std::string_view text) {
  std::vector<ScriptLine> lines;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = without_comment(line);
    if (line.empty()) continue;
    const auto [word, argument] = first_word(line);
    const auto verb = std::ranges::find(kVerbs, word);
    if (verb == kVerbs.end()) {
      return fail(Code::kUsage, fmt::format("line {}: '{}' is no command", number, word),
                  fmt::format("commands are {}", fmt::join(kVerbs, ", ")));
    }
    lines.push_back(
        {number, static_cast<ScriptVerb>(verb - kVerbs.begin()), std::string(argument)});
    const std::string wrong = complaint(lines.back().verb, argument);
    if (!wrong.empty()) {
      return fail(Code::kUsage, fmt::format("line {}: {}", number, wrong),
                  "the commands are listed in docs/gui.md");
    }
  }
  return lines;
}

std::string failed_assertion(const std::string& state, std::string_view expression) {
  const std::optional<Assertion> assertion = parse_assertion(expression);
  if (!assertion) return fmt::format("'{}' is no assertion", expression);
  const PlainJson parsed = PlainJson::parse(state, nullptr, /*allow_exceptions=*/false);
  const PlainJson* found = parsed.is_discarded() ? nullptr : find(parsed, assertion->path);
  if (found == nullptr) return fmt::format("the state has no {}", assertion->path);
  if (holds(*found, *assertion)) return {};
  return fmt::format("{} does not hold: it is {}", expression, found->dump());
}

}  // namespace dprof::view
