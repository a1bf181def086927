// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <gmock/gmock.h>

#include <sstream>
#include <string>

#include "base/lists.h"
#include "cli/test_support/process.h"

namespace dprof::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CommandLineTest, HelpIsGoodAndGoesToStdout) {
  const TemporaryFolder scratch;
  const Ended help = run_dprof(scratch, {"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.err, IsEmpty());
  for (const char* verb : {"record", "report", "import", "export", "gui", "recover", "doctor"}) {
    EXPECT_THAT(help.out, HasSubstr(verb));
  }
  EXPECT_THAT(help.out, HasSubstr("Exit codes"));
}

class VerbTest : public ::testing::TestWithParam<const char*> {};

TEST_P(VerbTest, HasHelpWithExamplesAndExitCodes) {
  const TemporaryFolder scratch;
  const Ended help = run_dprof(scratch, {GetParam(), "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("Examples:"));
  EXPECT_THAT(help.out, HasSubstr("Exit codes:"));
  EXPECT_THAT(help.out, HasSubstr(std::string("dprof ") + GetParam()));
  std::istringstream lines(help.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

INSTANTIATE_TEST_SUITE_P(Verbs, VerbTest,
                         ::testing::Values("record", "report", "diff", "check", "baseline",
                                           "import", "export", "gui", "digest", "recover", "doctor",
                                           "ctl", "demo"));

struct UsageCase {
  const char* name;
  std::vector<std::string> arguments;
};

class UsageTest : public ::testing::TestWithParam<UsageCase> {};

TEST_P(UsageTest, IsTwoWithAHint) {
  const TemporaryFolder scratch;
  const Ended ended = run_dprof(scratch, GetParam().arguments);
  EXPECT_EQ(ended.code, 2) << ended.out << ended.err;
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, UsageTest,
    ::testing::Values(
        UsageCase{"no_verb", {}}, UsageCase{"unknown_verb", {"recrod"}},
        UsageCase{"unknown_option", {"--frobnicate"}}, UsageCase{"record_nothing", {"record"}},
        UsageCase{"no_ranks", {"record", "-n", "0", "--", "true"}},
        UsageCase{"ranks_no_number", {"record", "-n", "two", "--", "true"}},
        UsageCase{"unknown_detail", {"record", "--detail", "most", "--", "true"}},
        UsageCase{"keep_no_number", {"record", "--keep", "ever", "--", "true"}},
        UsageCase{"every_without_steps", {"record", "--every", "5", "--", "true"}},
        UsageCase{"overhead_of_nothing", {"record", "--max-overhead", "0", "--", "true"}},
        UsageCase{"clock_of_one_number", {"record", "--fake-clock", "5", "--", "true"}},
        UsageCase{"report_nothing", {"report"}},
        UsageCase{"unknown_format", {"report", "r", "--format", "xml"}},
        UsageCase{"steps_backwards", {"report", "r", "--steps", "9:3"}},
        UsageCase{"ranks_no_list", {"report", "r", "--ranks", "1,,2"}},
        UsageCase{"diff_nothing", {"diff"}}, UsageCase{"diff_one", {"diff", "a"}},
        UsageCase{"diff_three", {"diff", "a", "b", "c"}},
        UsageCase{"diff_no_b", {"diff", "a", "b", "--"}},
        UsageCase{"diff_format", {"diff", "a", "b", "--format", "xml"}},
        UsageCase{"export_nothing", {"export"}}, UsageCase{"export_format", {"export", "r"}},
        UsageCase{"check_nothing", {"check"}},
        UsageCase{"check_format", {"check", "a", "--format", "xml"}},
        UsageCase{"check_slowdown", {"check", "a", "--max-slowdown", "much"}},
        UsageCase{"check_rules", {"check", "a", "--rules", "nowhere.toml"}},
        UsageCase{"baseline_nothing", {"baseline"}},
        UsageCase{"baseline_add_nothing", {"baseline", "add", "d"}},
        UsageCase{"baseline_list_run", {"baseline", "list", "d", "r"}},
        UsageCase{"recover_nothing", {"recover"}},
        UsageCase{"doctor_format", {"doctor", "--format", "xml"}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(CommandLineTest, AnUnknownVerbSuggestsTheNearest) {
  const TemporaryFolder scratch;
  const Ended near = run_dprof(scratch, {"reprot", "run1", "--format", "json"});
  EXPECT_EQ(near.code, 2);
  EXPECT_EQ(near.err, "dprof: no command 'reprot'; did you mean 'report'?\n");
  const Ended nonsense = run_dprof(scratch, {"frobnicate", "report"});
  EXPECT_EQ(nonsense.code, 2);
  EXPECT_EQ(nonsense.err, "dprof: no command 'frobnicate'; see dprof --help\n");
}

TEST(CommandLineTest, WhatCannotBeReadIsThree) {
  const TemporaryFolder scratch;
  const Ended missing = run_dprof(scratch, {"report", "nowhere"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("nowhere"));
  EXPECT_THAT(missing.err, HasSubstr("hint: "));
  std::ofstream(scratch.path() / "text.dprof") << "some text";
  EXPECT_EQ(run_dprof(scratch, {"report", "text.dprof"}).code, 3);
}

TEST(CommandLineTest, SaysItsVersion) {
  const TemporaryFolder scratch;
  const Ended ended = run_dprof(scratch, {"--version"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("dprof "));
}

// Everything after the verb is dprof-gui's, in its order.
TEST(CommandLineTest, GuiHandsItsArgumentsOn) {
  const TemporaryFolder scratch;
  const std::string program = scratch.file("dprof");
  std::filesystem::copy_file(kDprof, program);
  std::ofstream(scratch.path() / "dprof-gui") << "#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 4\n";
  std::filesystem::permissions(scratch.path() / "dprof-gui", std::filesystem::perms::owner_all);
  Running gui(scratch, {program, "gui", "a run", "--screenshot", "x.png", "--size", "10x20"});
  EXPECT_EQ(gui.wait(), 4);
  EXPECT_EQ(gui.out(), "<a run><--screenshot><x.png><--size><10x20>");
}

TEST(CommandLineTest, WithoutGuiItSaysHowToGetIt) {
  const TemporaryFolder scratch;
  const std::string program = scratch.file("dprof");
  std::filesystem::copy_file(kDprof, program);
  Running gui(scratch, {program, "gui", "run"});
  EXPECT_EQ(gui.wait(), 125);
  EXPECT_THAT(gui.err(), HasSubstr("hint: "));
}

TEST(ListsTest, HalfOpenRanges) {
  EXPECT_EQ(*parse_half_open("20:120"), (std::pair<int64_t, int64_t>(20, 120)));
  EXPECT_EQ(*parse_half_open(":5"), (std::pair<int64_t, int64_t>(0, 5)));
  EXPECT_EQ(parse_half_open("7:")->first, 7);
  for (const char* bad : {"", "5", "5:5", "-1:4", "a:b", "1:2:3"}) {
    EXPECT_FALSE(parse_half_open(bad).ok()) << bad;
  }
}

TEST(ListsTest, RankLists) {
  EXPECT_THAT(*parse_rank_list("4-6,0,5"), ElementsAre(0, 4, 5, 6));
  EXPECT_THAT(*parse_rank_list("3"), ElementsAre(3));
  EXPECT_THAT(*parse_ranks_in_order("4-6,0,5"), ElementsAre(4, 5, 6, 0, 5));
  for (const char* bad : {"", ",", "1,", "3-1", "x", "-1", "0-99999999999"}) {
    EXPECT_FALSE(parse_rank_list(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace dprof::cli
