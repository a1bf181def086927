// SPDX-License-Identifier: Apache-2.0
#include "cli/manual.h"

#include <gmock/gmock.h>

#include <regex>

#include "cli/subcommand.h"
#include "cli/test_support/process.h"

namespace dprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct CommandLine {
  CommandLine() : verbs(declare_command_line(app)) {}
  CLI::App app;
  std::vector<std::unique_ptr<Subcommand>> verbs;
};

// The options that `--help` lists; CLI11 writes that list.
std::vector<std::string> options_in_help(const std::string& verb) {
  const TemporaryFolder scratch;
  const std::string help = run_dprof(scratch, {verb, "--help"}).out;
  std::vector<std::string> names;
  const std::regex line("\n  (-[^ {]+)");
  for (std::sregex_iterator match(help.begin(), help.end(), line), end; match != end; ++match) {
    std::string name;
    std::istringstream together((*match)[1].str());
    while (std::getline(together, name, ',')) names.push_back(name);
  }
  return names;
}

std::string in_roff(const std::string& name) {
  return "\\fB" + std::regex_replace(name, std::regex("-"), "\\-") + "\\fR";
}

TEST(ManualTest, NamesEveryOptionOfEveryVerb) {
  const CommandLine line;
  const std::string bash = bash_completion(line.app);
  const std::string zsh = zsh_completion(line.app);
  const std::string fish = fish_completion(line.app);
  size_t seen = 0;
  for (const auto& verb : line.verbs) {
    const std::string name(verb->name());
    const std::string page = man_page(*line.app.get_subcommand(name), "1.2.3", "2026-01-31");
    EXPECT_THAT(page, HasSubstr(".TH DPROF\\-"));
    EXPECT_THAT(page, HasSubstr(" 1 \"2026-01-31\" \"dprof 1.2.3\""));
    EXPECT_THAT(page, HasSubstr(".SH EXIT STATUS\n"));
    EXPECT_THAT(man_page(line.app, "1.2.3", ""), HasSubstr(in_roff("dprof-" + name)));
    const std::string of_verb =
        bash.substr(std::min(bash.find("      " + name + ",-*)"), bash.size()));
    const std::string words = of_verb.substr(0, of_verb.find('\n'));
    for (const std::string& option : options_in_help(name)) {
      ++seen;
      EXPECT_THAT(page, HasSubstr(in_roff(option))) << name;
      EXPECT_THAT(words + " ", ::testing::ContainsRegex(option + "[ ']")) << name;
      EXPECT_THAT(zsh, HasSubstr("'" + option + "[")) << name;
      EXPECT_THAT(fish, HasSubstr(option.starts_with("--") ? " -l " + option.substr(2)
                                                           : " -s " + option.substr(1)))
          << name;
    }
  }
  EXPECT_GT(seen, 50U);
}

TEST(ManualTest, LinesThatBeginLikeRequestsAreText) {
  CLI::App app("about", "x");
  app.footer("\nExamples:\n.TH is text\n'so is this\n");
  const std::string page = man_page(app, "1", "");
  EXPECT_THAT(page, HasSubstr("\n\\&.TH is text\n\\&'so is this\n"));
  EXPECT_THAT(page, Not(HasSubstr("\n.TH is")));
}

std::string completed(const std::string& words, int at) {
  const TemporaryFolder scratch;
  const CommandLine line;
  std::ofstream(scratch.path() / "dprof.bash") << bash_completion(line.app);
  Running bash(scratch, {"/bin/bash", "-c",
                         ". ./dprof.bash; COMP_WORDS=(" + words + "); COMP_CWORD=" +
                             std::to_string(at) + "; _dprof; echo \"${COMPREPLY[@]}\""});
  EXPECT_EQ(bash.wait(), 0);
  return bash.out();
}

TEST(ManualTest, BashCompletes) {
  EXPECT_EQ(completed("dprof rec", 1), "record recover\n");
  EXPECT_EQ(completed("dprof record --detail ''", 3), "light standard full\n");
  EXPECT_EQ(completed("dprof record --on-h", 2), "--on-hang\n");
  EXPECT_EQ(completed("dprof record -- --detail ''", 4), "\n");  // the command's own
  EXPECT_EQ(completed("dprof --ver", 1), "--version\n");
}

}  // namespace
}  // namespace dprof::cli
