// SPDX-License-Identifier: Apache-2.0
#include "cli/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace dprof::cli {
namespace {

// An option, as man pages and shells need it.
struct OptionText {
  std::vector<std::string> names;  // with dashes; none: a positional argument
  std::string value;               // its argument; "" = none
  std::vector<std::string> choices;
  std::string about;
  std::string default_value;
  std::string variable;
};

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(at, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

OptionText text_of_option(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  text.about = option.get_description();
  text.default_value = option.get_default_str();
  text.variable = option.get_envname();
  if (option.get_expected_max() == 0) return text;
  const std::string type = option.get_type_name();  // LEVEL:{light,standard,full}
  text.value = text.names.empty() ? option.get_name(true) : type.substr(0, type.find(':'));
  const size_t open = type.find('{');
  const size_t close = type.find('}');
  if (open != std::string::npos && close != std::string::npos) {
    text.choices = split(std::string_view(type).substr(open + 1, close - open - 1), ',');
  }
  return text;
}

std::vector<OptionText> options_of(const CLI::App& part) {
  std::vector<OptionText> texts;
  for (const CLI::Option* option : part.get_options()) {
    if (!option->get_group().empty()) texts.push_back(text_of_option(*option));
  }
  return texts;
}

std::vector<const CLI::App*> verbs_of(const CLI::App& part) {
  return part.get_subcommands([](const CLI::App*) { return true; });
}

std::string join(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

// --- man ---------------------------------------------------------------------------------------

std::string roff(const std::string& text) {
  std::string out = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  for (const std::string_view at_begin : {".", "'"}) {
    if (out.starts_with(at_begin)) out.insert(0, "\\&");
    out = replaced(out, fmt::format("\n{}", at_begin), fmt::format("\n\\&{}", at_begin));
  }
  return out;
}

// What follows the options in `--help`: the description, then parts that begin with a title.
struct Parts {
  std::string about, examples, exit_codes;
};

Parts parts_of(const std::string& footer) {
  Parts parts;
  std::string* part = &parts.about;
  for (std::string line : split(footer, '\n')) {
    for (const auto& [title, its] :
         {std::pair{"Examples:", &parts.examples}, std::pair{"Exit codes:", &parts.exit_codes}}) {
      if (!line.starts_with(title)) continue;
      part = its;
      line.erase(0, std::string_view(title).size());
    }
    if (line.empty() && part->empty()) continue;
    *part += line + "\n";
  }
  for (std::string* one : {&parts.about, &parts.examples, &parts.exit_codes}) {
    while (one->ends_with('\n')) one->pop_back();
  }
  return parts;
}

std::string literally(std::string_view title, const std::string& text) {
  if (text.empty()) return {};
  return fmt::format(".SH {}\n.nf\n{}\n.fi\n", title, roff(text));
}

std::string man_option(const OptionText& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names)
    names.push_back(fmt::format("\\fB{}\\fR", roff(name)));
  std::string text = ".TP\n" + join(names, ", ");
  if (!option.value.empty()) {
    text += fmt::format("{}\\fI{}\\fR", names.empty() ? "" : " ", roff(option.value));
  }
  text += "\n" + roff(option.about.empty() ? "see below" : option.about);
  if (!option.choices.empty())
    text += roff(fmt::format("\n(one of {})", join(option.choices, ", ")));
  if (!option.default_value.empty())
    text += roff(fmt::format("\n[default: {}]", option.default_value));
  if (!option.variable.empty()) text += roff(fmt::format("\n[environment: {}]", option.variable));
  return text + "\n";
}

// --- shells ------------------------------------------------------------------------------------

std::vector<std::string> all_names(const CLI::App& part) {
  std::vector<std::string> names;
  for (const OptionText& option : options_of(part))
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// For single quotes of a shell.
std::string quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

// For zsh's _arguments, within brackets.
std::string bracketed(std::string text) {
  for (const std::string_view special : {"\\", "[", "]", ":"})
    text = replaced(text, special, fmt::format("\\{}", special));
  return text;
}

}  // namespace

std::string man_page(const CLI::App& part, const std::string& version, const std::string& date) {
  const bool is_verb = part.get_parent() != nullptr;
  const std::string name = is_verb ? "dprof-" + part.get_name() : "dprof";
  const std::string command = is_verb ? "dprof " + part.get_name() : "dprof";
  std::string upper = name;
  for (char& letter : upper) letter = static_cast<char>(std::toupper(letter));
  const std::string about = is_verb ? part.get_description() : "why a distributed training is slow";
  std::string page = fmt::format(
      ".TH {} 1 \"{}\" \"dprof {}\" \"dprof\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n\\fB{}\\fR",
      roff(upper), date, roff(version), roff(name), roff(about), roff(command));
  const std::vector<OptionText> options = options_of(part);
  if (!is_verb) page += " \\fICOMMAND\\fR";
  page += " [\\fIOPTION\\fR]...";
  for (const OptionText& option : options) {
    if (option.names.empty()) page += fmt::format(" \\fI{}\\fR", roff(option.value));
  }
  const Parts parts = parts_of(part.get_footer());
  page += "\n.SH DESCRIPTION\n";
  page += roff(is_verb ? (parts.about.empty() ? about : parts.about)
                       : CLI::detail::trim_copy(part.get_description()));
  page += "\n";
  const std::vector<const CLI::App*> verbs = verbs_of(part);
  if (!verbs.empty()) page += ".SH COMMANDS\n";
  for (const CLI::App* verb : verbs) {
    page += fmt::format(".TP\n\\fB{}\\fR\n{}; see \\fBdprof\\-{}\\fR(1)\n", roff(verb->get_name()),
                        roff(verb->get_description()), roff(verb->get_name()));
  }
  page += ".SH OPTIONS\n";
  for (const OptionText& option : options) page += man_option(option);
  page += literally("EXAMPLES", parts.examples);
  page += literally("EXIT STATUS", parts.exit_codes);
  if (is_verb) page += ".SH SEE ALSO\n\\fBdprof\\fR(1)\n";
  return page;
}

std::string bash_completion(const CLI::App& command_line) {
  std::vector<std::string> names;
  std::string values, options;
  for (const CLI::App* verb : verbs_of(command_line)) {
    names.push_back(verb->get_name());
    for (const OptionText& option : options_of(*verb)) {
      if (option.choices.empty() || option.names.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names)
        patterns.push_back(fmt::format("{},{}", verb->get_name(), name));
      values += fmt::format("    {}) words={} ;;\n", join(patterns, "|"),
                            quoted(join(option.choices, " ")));
    }
    options += fmt::format("      {},-*) words={} ;;\n", verb->get_name(),
                           quoted(join(all_names(*verb), " ")));
  }
  return fmt::format(
      "# Completion of dprof for bash, made from its options.\n"
      "_dprof() {{\n"
      "  local word=\"${{COMP_WORDS[COMP_CWORD]}}\" before=\"${{COMP_WORDS[COMP_CWORD-1]}}\" verb='' words='' i\n"
      "  (( COMP_CWORD < 2 )) || verb=\"${{COMP_WORDS[1]}}\"\n"
      "  for (( i = 2; i < COMP_CWORD; i++ )); do\n"
      "    [[ ${{COMP_WORDS[i]}} != -- ]] || return 0  # of the recorded command\n"
      "  done\n"
      "  case \"$verb,$before\" in\n{0}"
      "    *) case \"$verb,$word\" in\n"
      "      ,-*) words={1} ;;\n"
      "      ,*) words={2} ;;\n{3}"
      "    esac ;;\n"
      "  esac\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
      "}}\n"
      "complete -o default -F _dprof dprof\n",
      values, quoted(join(all_names(command_line), " ")), quoted(join(names, " ")), options);
}

std::string zsh_completion(const CLI::App& command_line) {
  std::string verbs, cases;
  for (const CLI::App* verb : verbs_of(command_line)) {
    verbs +=
        "    " + quoted(fmt::format("{}:{}", verb->get_name(), verb->get_description())) + "\n";
    cases += fmt::format("    {})\n      _arguments", verb->get_name());
    for (const OptionText& option : options_of(*verb)) {
      std::string value;
      if (!option.value.empty()) {
        value = fmt::format(
            ":{}:{}", replaced(option.value, ":", "\\:"),
            option.choices.empty() ? "_files" : fmt::format("({})", join(option.choices, " ")));
      }
      for (const std::string& name : option.names)
        cases +=
            " \\\n        " + quoted(fmt::format("{}[{}]{}", name, bracketed(option.about), value));
    }
    cases += " \\\n        '*:file:_files'\n      ;;\n";
  }
  return fmt::format(
      "#compdef dprof\n"
      "# Completion of dprof for zsh, made from its options.\n"
      "_dprof() {{\n"
      "  local -a verbs=(\n{0}  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command verbs\n"
      "    return\n"
      "  fi\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $words[1] in\n{1}  esac\n"
      "}}\n"
      "_dprof \"$@\"\n",
      verbs, cases);
}

std::string fish_completion(const CLI::App& command_line) {
  std::string text = "# Completion of dprof for fish, made from its options.\n";
  for (const CLI::App* verb : verbs_of(command_line)) {
    text += fmt::format("complete -c dprof -n __fish_use_subcommand -f -a {} -d {}\n",
                        verb->get_name(), quoted(verb->get_description()));
    for (const OptionText& option : options_of(*verb)) {
      if (option.names.empty()) continue;
      std::string line =
          fmt::format("complete -c dprof -n '__fish_seen_subcommand_from {}'", verb->get_name());
      for (const std::string& name : option.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.choices.empty()) {
        line += fmt::format(" -xa {}", quoted(join(option.choices, " ")));
      } else if (!option.value.empty()) {
        line += " -r";
      }
      text += fmt::format("{} -d {}\n", line, quoted(option.about));
    }
  }
  return text;
}

}  // namespace dprof::cli
