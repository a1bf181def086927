// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "analyzer/render/layout.h"
#include "base/nearest_name.h"
#include "cli/option_variables.h"
#include "cli/subcommand.h"

namespace dprof::cli {
namespace {

// CLI11 writes each description on one line, whatever its length.
class WrappedHelp : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    constexpr size_t kWidth = 100;
    const size_t width = kWidth - get_column_width();
    return fmt::format("{}", fmt::join(analyzer::wrapped(option->get_description(), width), "\n"));
  }
};

constexpr char kAbout[] =
    "dprof records a distributed training run, finds what makes it slow, and shows it.\n";

constexpr char kFooter[] =
    "\nExamples:\n"
    "  dprof record -n 2 -- ./train --epochs 3     record two ranks on this machine\n"
    "  dprof record -- torchrun --nproc-per-node=8 train.py\n"
    "  dprof report ./dprof-20260131-235959        what happened, ranked by time lost\n"
    "  dprof gui ./dprof-20260131-235959           the timeline\n"
    "  dprof diff before after                     what changed from one run to another\n"
    "  dprof check run1 --baseline baselines       pass or fail, for CI\n"
    "  dprof import *.trace.json.gz -o run1        turn other tools' recordings into a run\n"
    "  dprof export run1 --format perfetto         for Perfetto, HTA or a spreadsheet\n"
    "  dprof doctor                                what can be recorded here, and what cannot\n"
    "  dprof demo                                  record and report a tiny training run\n\n"
    "Exit codes:\n"
    "  0 good   1 `check` failed   2 usage   3 input unreadable or damaged   4 `check` cannot tell\n"
    "  5 recorded, but something was lost   125 dprof itself failed\n"
    "  `dprof record` returns the command's own code\n\n"
    "`dprof VERB --help` has the details.\n";

int fail_usage(const std::string& what, const std::string& hint, Console& console) {
  console.error({Code::kUsage, what, hint});
  return code_of(ExitCode::kUsage);
}

// Whether the command line begins with an unknown verb; reports it if so.
bool fail_unknown_verb(std::span<const char* const> words, Console& console) {
  static constexpr std::array kNames{
#define DPROF_NAME(verb) std::string_view(#verb),
      DPROF_VERBS(DPROF_NAME)
#undef DPROF_NAME
  };
  if (words.size() < 2) return false;
  const std::string_view word = words[1];
  if (word.starts_with('-') || std::ranges::find(kNames, word) != kNames.end()) return false;
  const std::optional<std::string_view> meant = nearest_name(word, kNames);
  const std::string end = meant ? fmt::format("did you mean '{}'?", *meant) : "see dprof --help";
  fail_usage(fmt::format("no command '{}'; {}", word, end), "", console);
  return true;
}

// The parser reads the variables of every verb and would refuse an invalid one of another verb.
void ignore_variables_of_others(CLI::App& app, std::string_view verb) {
  for (CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (part->get_name() == verb) continue;
    for (CLI::Option* option : part->get_options()) option->envname("");
  }
}

int run_parsed(std::span<const char* const> given, Console& console) {
  if (fail_unknown_verb(given, console)) return code_of(ExitCode::kUsage);
  std::vector<const char*> words(given.begin(), given.end());
  if (words.size() > 1 && std::string_view(words[1]) == "diff")
    std::ranges::replace_if(
        words, [](std::string_view word) { return word == "--"; }, kBetweenSides);
  CLI::App app;
  const std::vector<std::unique_ptr<Subcommand>> verbs = declare_command_line(app);
  ignore_variables_of_others(app, words.size() > 1 ? words[1] : "");
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& asked) {  // --help, --version
    std::ostringstream text;
    app.exit(asked, text, text);
    console.print(text.str());
    return code_of(ExitCode::kGood);
  } catch (const CLI::Error& error) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    if (chosen.empty()) return fail_usage(error.what(), "dprof --help", console);
    const std::string variables = variables_in_use(*chosen.front());
    return fail_usage(
        error.what(),
        fmt::format("dprof {} --help{}", chosen.front()->get_name(),
                    variables.empty() ? std::string()
                                      : fmt::format("; set by the environment: {}", variables)),
        console);
  }
  if (app.get_subcommands().empty()) {
    console.print_error(app.help());
    return code_of(ExitCode::kUsage);
  }
  const auto chosen = std::ranges::find(verbs, app.get_subcommands().front()->get_name(),
                                        [](const auto& verb) { return verb->name(); });
  const Result<int> code = (*chosen)->run(console);
  if (code.ok()) return *code;
  console.error(code.error());
  return code_of(exit_code_of(code.error().code));
}

}  // namespace

std::vector<std::unique_ptr<Subcommand>> declare_command_line(CLI::App& app) {
  app.formatter(std::make_shared<WrappedHelp>());
  app.name("dprof");
  app.description(kAbout);
  app.footer(kFooter);
  app.set_version_flag("--version", "dprof " DPROF_VERSION);
  app.require_subcommand(0, 1);
  std::vector<std::unique_ptr<Subcommand>> verbs;
#define DPROF_MAKE(verb) verbs.push_back(make_##verb());
  DPROF_VERBS(DPROF_MAKE)
#undef DPROF_MAKE
  for (const std::unique_ptr<Subcommand>& verb : verbs) {
    CLI::App* part = app.add_subcommand(std::string(verb->name()), std::string(verb->summary()));
    part->footer(std::string(verb->details()));
    verb->declare(*part);
  }
  return verbs;
}

int run_command_line(int argc, const char* const* argv, Console& console) try {
  return run_parsed({argv, static_cast<size_t>(argc)}, console);
} catch (const std::exception& error) {
  console.error({Code::kInternal, error.what(), "this is a bug in dprof: please report it"});
  return code_of(ExitCode::kInternal);
}

}  // namespace dprof::cli
