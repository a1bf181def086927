// SPDX-License-Identifier: Apache-2.0
// `dprof check`, `diff` and `baseline` as a pipeline calls them.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analyzer/render/json.h"
#include "cli/test_support/process.h"

namespace dprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A report as written by `dprof report --format json`, with 40 steps of `ms`.
std::string report_of(const std::string& name, double ms) {
  analyzer::Report report;
  report.run = {.name = name, .command = "train", .ranks = 2, .hosts = 1, .world_size = 2};
  report.run.steps = analyzer::StepsInfo{.count = 40, .last_steady = 39, .steady = 40};
  const auto step_ns = static_cast<int64_t>(ms * 1e6);
  for (int i = 0; i < 40; ++i)
    report.run.steps->lengths_ns.push_back(step_ns + (i * 7919) % 40 * step_ns / 8000);
  report.breakdown.emplace();
  for (int rank = 0; rank < 2; ++rank) {
    analyzer::RankBreakdown part{.rank = rank, .wall_ns = 40 * step_ns};
    part.category_ns[0] = part.wall_ns;
    report.breakdown->per_rank.push_back(part);
  }
  report.ending = analyzer::Ending{.verdict = {.kind = "ok"}};
  return analyzer::render_json(report);
}

class CheckTest : public ::testing::Test {
 protected:
  CheckTest() {
    write("base.json", report_of("base", 100));
    write("same.json", report_of("same", 100.1));
    write("slow.json", report_of("slow", 110));
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(scratch_.path() / name) << text;
  }
  Ended dprof(const std::vector<std::string>& words) { return run_dprof(scratch_, words); }

  TemporaryFolder scratch_;
};

TEST_F(CheckTest, ItsCodeIsTheAnswer) {
  const Ended same = dprof({"check", "same.json", "--baseline", "base.json"});
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  EXPECT_THAT(same.out, StartsWith("PASSED  same\n"));
  const Ended slow = dprof({"check", "slow.json", "--baseline", "base.json"});
  EXPECT_EQ(slow.code, 1) << slow.out;
  EXPECT_THAT(slow.out, HasSubstr("suspect: step time +"));
  EXPECT_EQ(dprof({"check", "slow.json", "--baseline", "base.json", "--max-slowdown", "20%"}).code,
            0);
}

TEST_F(CheckTest, WhatCannotBeReadIsThree) {
  write("empty.json", "");
  write("cut.json", report_of("cut", 100).substr(0, 900));
  write("newer.json", R"({"schema": "dprof.report/9"})");
  for (const auto& [file, says] :
       std::vector<std::pair<std::string, std::string>>{{"empty.json", "is empty"},
                                                        {"cut.json", "cut off"},
                                                        {"newer.json", "newer dprof"},
                                                        {"nowhere", "no such file or folder"}}) {
    const Ended ended = dprof({"check", "same.json", "--baseline", file});
    EXPECT_EQ(ended.code, 3) << file;
    EXPECT_THAT(ended.err, HasSubstr(file));
    EXPECT_THAT(ended.err, HasSubstr(says));
    EXPECT_THAT(ended.err, HasSubstr("hint: "));
  }
}

TEST_F(CheckTest, RulesOfTheFolderAreRead) {
  write("dprof-check.toml", "[budgets]\nstep_ms = 90\n");
  EXPECT_EQ(dprof({"check", "same.json"}).code, 1);
  write("other.toml", "[budgets]\nstep_ms = 200\n");
  EXPECT_EQ(dprof({"check", "same.json", "--rules", "other.toml"}).code, 0);
  write("dprof-check.toml", "[budgets]\nstep_msec = 90\n");
  const Ended mistaken = dprof({"check", "same.json"});
  EXPECT_EQ(mistaken.code, 2);
  EXPECT_EQ(mistaken.err,
            "dprof: dprof-check.toml:2: unknown key 'step_msec' in [budgets]\n"
            "hint: did you mean 'step_ms'?\n");
}

TEST_F(CheckTest, AHistoryIsKeptAndAsked) {
  const Ended none = dprof({"baseline", "list", "kept"});
  EXPECT_EQ(none.code, 3);
  std::filesystem::create_directory(scratch_.path() / "kept");
  EXPECT_EQ(dprof({"check", "same.json", "--baseline", "kept"}).code, 4);
  for (const char* run : {"base.json", "same.json", "base.json"})
    EXPECT_EQ(dprof({"baseline", "add", "kept", run}).code, 0);
  const Ended list = dprof({"baseline", "list", "kept"});
  EXPECT_EQ(std::ranges::count(list.out, '\n'), 3);
  EXPECT_EQ(dprof({"check", "same.json", "--baseline", "kept"}).code, 0);
  const Ended slow = dprof({"check", "slow.json", "--baseline", "kept"});
  EXPECT_EQ(slow.code, 1) << slow.out;
  EXPECT_THAT(slow.out, HasSubstr("against 3 baselines"));
  EXPECT_EQ(dprof({"baseline", "prune", "kept", "--keep", "1"}).code, 0);
  EXPECT_EQ(std::ranges::count(dprof({"baseline", "list", "kept"}).out, '\n'), 1);
}

TEST_F(CheckTest, ConfirmRepeatsTheRun) {
  const Ended slow = dprof({"check", "slow.json", "--baseline", "base.json", "--max-runs", "4",
                            "--confirm", "cp slow.json \"$DPROF_RUN\""});
  EXPECT_EQ(slow.code, 1) << slow.out;
  EXPECT_TRUE(std::filesystem::exists(scratch_.path() / "slow.json.confirm-2"));
  const Ended fails =
      dprof({"check", "slow.json", "--baseline", "base.json", "--confirm", "exit 7"});
  EXPECT_EQ(fails.code, 2);
  EXPECT_THAT(fails.err, HasSubstr("the command ended with 7"));
}

TEST_F(CheckTest, CiSystemsGetWhatTheyTake) {
  setenv("GITHUB_ACTIONS", "true", 1);
  setenv("GITHUB_STEP_SUMMARY", scratch_.file("summary.md").c_str(), 1);
  const Ended github = dprof({"check", "slow.json", "--baseline", "base.json", "--ci", "auto"});
  unsetenv("GITHUB_ACTIONS");
  unsetenv("GITHUB_STEP_SUMMARY");
  EXPECT_EQ(github.code, 1);
  EXPECT_THAT(github.out, HasSubstr("\n::error title=dprof%3A step_time::suspect"));
  EXPECT_THAT(text_of(scratch_.path() / "summary.md"), HasSubstr("dprof check: FAILED"));
  setenv("GITLAB_CI", "true", 1);
  const Ended gitlab = dprof({"check", "same.json", "--baseline", "base.json", "--ci", "auto"});
  unsetenv("GITLAB_CI");
  EXPECT_EQ(gitlab.code, 0);
  EXPECT_THAT(text_of(scratch_.path() / "dprof-junit.xml"), HasSubstr("<testsuites"));
  EXPECT_THAT(text_of(scratch_.path() / "dprof-metrics.txt"), HasSubstr("# EOF"));
}

TEST_F(CheckTest, DiffTakesTwoRunsOrTwoSets) {
  const Ended two = dprof({"diff", "base.json", "slow.json"});
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_THAT(two.out, HasSubstr("slower"));
  EXPECT_THAT(two.out, HasSubstr("forward"));
  const Ended sets =
      dprof({"diff", "base.json", "same.json", "--", "slow.json", "--format", "json"});
  EXPECT_EQ(sets.code, 0) << sets.err;
  const auto json = nlohmann::json::parse(sets.out);
  EXPECT_EQ(json["a"]["runs"].size(), 2U);
  EXPECT_EQ(json["b"]["runs"].size(), 1U);
}

}  // namespace
}  // namespace dprof::cli
