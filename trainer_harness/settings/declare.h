// SPDX-License-Identifier: Apache-2.0
// Helpers that declare options: words, lists and numbers. Then the parts of the command line, which
// are in several files. Internal to settings/.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// In place of CLI11's own, whose message prints the range up to 1.8e308 with 300 digits.
[[nodiscard]] CLI::Validator above_zero();
[[nodiscard]] CLI::Validator not_negative();
[[nodiscard]] CLI::Validator share_of_one();  // above 0, at most 1

// Splits "3,1" at the commas. Throws UsageError for an empty piece.
[[nodiscard]] std::vector<std::string> pieces_of(const std::string& option,
                                                 const std::string& text);

// Reads "off" or "on". The option without a word means on.
[[nodiscard]] bool is_on(const std::string& option, const std::string& word);

// Reads a finite number. Throws UsageError.
[[nodiscard]] double real_number(const std::string& option, const std::string& text);
[[nodiscard]] int64_t whole_number(const std::string& option, const std::string& text,
                                   int64_t lowest);

// Adds options of one group.
class Group {
 public:
  Group(CLI::App& app, std::string name) : app_(app), name_(std::move(name)) {}

  // One of a few words. CLI11's own transformer would show the enumerators' numbers in the help.
  template <typename Value, typename Target>
  CLI::Option* choice(const std::string& name, Target& value,
                      const std::vector<std::pair<std::string, Value>>& words,
                      const std::string& help) {
    std::vector<std::string> names;
    std::string standard;
    for (const auto& [word, meaning] : words) {
      names.push_back(word);
      if (Target(meaning) == value) standard = word;
    }
    CLI::Option* option = app_.add_option_function<std::string>(
        name,
        [&value, words](const std::string& given) {
          for (const auto& [word, meaning] : words) {
            if (word == given) value = meaning;
          }
        },
        help);
    option->check(CLI::IsMember(names))->type_name("NAME")->group(name_);
    if (!standard.empty()) option->default_str(standard);
    return option;
  }

  // --name, --name on, --name off.
  template <typename Target>
  CLI::Option* on_off(const std::string& name, Target& value, const std::string& help) {
    CLI::Option* option = app_.add_option_function<std::string>(
        name, [&value, name](const std::string& word) { value = is_on(name, word); }, help);
    option->expected(0, 1)->type_name("[on|off]")->group(name_);
    if (value != Target{}) option->default_str("on");
    return option;
  }

  // Anything that CLI11 can read into `value`.
  template <typename Target>
  CLI::Option* value(const std::string& name, Target& value, const std::string& type,
                     const std::string& help) {
    return app_.add_option(name, value, help)->type_name(type)->group(name_);
  }

  // A text with its own syntax, which `read` parses. `read` can throw UsageError.
  CLI::Option* text(const std::string& name, const std::string& type, const std::string& help,
                    std::function<void(const std::string&)> read) {
    return app_.add_option_function<std::string>(name, std::move(read), help)
        ->type_name(type)
        ->group(name_);
  }

 private:
  CLI::App& app_;
  std::string name_;
};

void declare_training(CLI::App& app, Options& options);
void declare_strategy(CLI::App& app, Options& options);
void declare_communication(CLI::App& app, Options& options);
void declare_data(CLI::App& app, Options& options);
void declare_output(CLI::App& app, Options& options);
void declare_launch(CLI::App& app, Options& options);
void declare_faults(CLI::App& app, Options& options);

}  // namespace dprof::trainer_harness
