// SPDX-License-Identifier: Apache-2.0
#include "cli/option_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/nearest_name.h"

namespace dprof::cli {
namespace {

std::string variable_of(const CLI::Option& option, std::string_view prefix) {
  const std::vector<std::string>& names =
      option.get_lnames().empty() ? option.get_snames() : option.get_lnames();
  std::string text(prefix);
  for (const char letter : names.front())
    text += letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
  return text;
}

std::vector<std::string> variables_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_envname().empty()) names.push_back(option->get_envname());
  }
  return names;
}

}  // namespace

void set_from_variables(CLI::App& app, std::string_view prefix) {
  for (CLI::Option* option : app.get_options()) {
    if (option != app.get_help_ptr() && !option->get_positional())
      option->envname(variable_of(*option, prefix));
  }
}

std::vector<std::string> strange_variables(const CLI::App& app, std::string_view prefix,
                                           const char* const* environment) {
  const std::vector<std::string> known = variables_of(app);
  std::vector<std::string_view> ends;  // their common prefix must not make them similar
  for (const std::string_view name : known) ends.push_back(name.substr(prefix.size()));
  std::vector<std::string> messages;
  for (; *environment != nullptr; ++environment) {
    std::string_view name = *environment;
    name = name.substr(0, name.find('='));
    if (!name.starts_with(prefix)) continue;
    const std::string_view end = name.substr(prefix.size());
    if (std::ranges::find(ends, end) != ends.end()) continue;
    const auto meant = nearest_name(end, ends);
    messages.push_back(
        fmt::format("{} sets no option{}", name,
                    meant ? fmt::format("; did you mean {}{}?", prefix, *meant) : std::string()));
  }
  return messages;
}

std::string variables_in_use(const CLI::App& app) {
  std::vector<std::string> used = variables_of(app);
  std::erase_if(used, [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr || *value == '\0';
  });
  return fmt::format("{}", fmt::join(used, ", "));
}

}  // namespace dprof::cli
