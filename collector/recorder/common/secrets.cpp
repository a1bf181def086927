// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/common/secrets.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace dprof::recorder {
namespace {

constexpr std::string_view kMask = "***";
constexpr std::string_view kNames[] = {"key", "auth", "pwd", "bearer", "credential", "credentials"};
constexpr std::string_view kNameEnds[] = {"token",  "secret",     "password",
                                          "passwd", "passphrase", "apikey"};
constexpr std::string_view kBeginnings[] = {"hf_",         "sk-",       "ghp_",   "gho_",  "ghs_",
                                            "github_pat_", "AKIA",      "xoxb-",  "xoxp-", "glpat-",
                                            "eyJ",         "wandb_v1_", "nvapi-", "npm_"};
constexpr size_t kShortestToken = 20;
constexpr size_t kLongestNumber = 5;

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// The last word of a name, in lower case: "key" of "--api-key", "Token" of "hfToken".
std::string last_word(std::string_view name) {
  size_t begin = name.size();
  while (begin > 0 && is_alnum(name[begin - 1])) {
    --begin;
    const bool hump = std::isupper(static_cast<unsigned char>(name[begin])) != 0 && begin > 0 &&
                      std::islower(static_cast<unsigned char>(name[begin - 1])) != 0;
    if (hump) break;
  }
  std::string word(name.substr(begin));
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  return word;
}

bool names_secret(std::string_view name) {
  const std::string word = last_word(name);
  return std::ranges::find(kNames, word) != std::end(kNames) ||
         std::ranges::any_of(kNameEnds, [&](std::string_view end) { return word.ends_with(end); });
}

// Values that cannot be secrets: a small number (`--max-token 512`), `<pad>`, a reference.
bool is_plain(std::string_view value) {
  const bool number =
      value.size() <= kLongestNumber &&
      std::ranges::all_of(value, [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; });
  return number || value.starts_with('<') || value.starts_with('[') || value.starts_with('$') ||
         value == "true" || value == "false" || value == "True" || value == "False";
}

bool looks_secret(std::string_view value) {
  return value.size() >= kShortestToken &&
         std::ranges::any_of(kBeginnings,
                             [&](std::string_view begin) { return value.starts_with(begin); });
}

// Without the surrounding quotes and separators of a shell.
std::string_view core_of(std::string_view word) {
  constexpr std::string_view kAround = "'\"();,`";
  const size_t begin = word.find_first_not_of(kAround);
  if (begin == std::string_view::npos) return {};
  return word.substr(begin, word.find_last_not_of(kAround) - begin + 1);
}

std::string replaced(std::string_view word, std::string_view part, std::string_view by) {
  const auto at = static_cast<size_t>(part.data() - word.data());
  return std::string(word.substr(0, at)) + std::string(by) +
         std::string(word.substr(at + part.size()));
}

// The password of scheme://user:password@host; empty if there is none.
std::string_view password_of_url(std::string_view text) {
  const size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return {};
  const size_t user = scheme + 3;
  const size_t at = text.substr(0, text.find('/', user)).rfind('@');
  const size_t colon = text.find(':', user);
  if (at == std::string_view::npos || colon == std::string_view::npos || colon > at) return {};
  return text.substr(colon + 1, at - colon - 1);
}

// `value_follows`: on entry, whether the previous word marks this one as a secret; on return,
// whether this one marks the next.
std::string mask_word(std::string_view word, bool& value_follows) {
  const bool is_value = std::exchange(value_follows, false);
  const std::string_view core = core_of(word);
  if (core.empty()) return std::string(word);
  if (is_value && !core.starts_with('-') && !is_plain(core)) {
    value_follows = core == "Bearer" || core == "Basic";  // of an Authorization header
    return value_follows ? std::string(word) : replaced(word, core, kMask);
  }
  const size_t equals = core.find('=');
  if (equals != std::string_view::npos) {
    const std::string_view value = core_of(core.substr(equals + 1));
    if (value.empty()) return std::string(word);
    if (looks_secret(value) || (names_secret(core.substr(0, equals)) && !is_plain(value))) {
      return replaced(word, value, kMask);
    }
  } else if (looks_secret(core)) {
    return replaced(word, core, kMask);
  } else {
    value_follows = (core.starts_with('-') && names_secret(core)) || core == "Bearer";
  }
  const std::string_view password = password_of_url(core);
  return password.empty() ? std::string(word) : replaced(word, password, kMask);
}

}  // namespace

std::string mask_secrets(std::string_view command) {
  std::string masked;
  bool value_follows = false;
  while (!command.empty()) {
    const size_t blanks = std::min(command.find_first_not_of(" \t\n"), command.size());
    masked += command.substr(0, blanks);
    command.remove_prefix(blanks);
    const size_t length = std::min(command.find_first_of(" \t\n"), command.size());
    if (length != 0) masked += mask_word(command.substr(0, length), value_follows);
    command.remove_prefix(length);
  }
  return masked;
}

}  // namespace dprof::recorder
