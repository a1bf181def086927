// SPDX-License-Identifier: Apache-2.0
#include "analyzer/diff/run_facts.h"

#include <gmock/gmock.h>

#include "analyzer/render/json.h"

namespace dprof::analyzer {
namespace {

using ::testing::HasSubstr;

struct BadCase {
  const char* text;
  Code code;
  const char* says;
};

// Issue 25: each has its own sentence and code.
TEST(RunFacts, WhatCannotBeReadSaysWhy) {
  for (const BadCase& c :
       {BadCase{"", Code::kDamaged, "empty"}, BadCase{" \n", Code::kDamaged, "empty"},
        BadCase{"{\"schema\": \"dprof.rep", Code::kDamaged, "cut off"},
        BadCase{"[1, 2]", Code::kNotATrace, "no report"},
        BadCase{"{\"schema\": \"dprof.truth/1\"}", Code::kNotATrace, "no report"},
        BadCase{"{\"schema\": \"dprof.report/2\"}", Code::kTraceTooNew, "newer dprof"}}) {
    const Result<RunFacts> facts = facts_of_json(c.text, "base.json");
    ASSERT_FALSE(facts.ok()) << c.text;
    EXPECT_EQ(facts.error().code, c.code) << c.text;
    EXPECT_THAT(facts.error().what, HasSubstr("base.json: "));
    EXPECT_THAT(facts.error().what, HasSubstr(c.says));
    EXPECT_FALSE(facts.error().hint.empty());
  }
}

TEST(RunFacts, WhatIsMissingOrOfAnotherTypeIsNotKnown) {
  const Result<RunFacts> facts = facts_of_json(
      R"({"schema": "dprof.report/1", "run": {"ranks": "two", "steps": [], "environment": 7},
          "breakdown": {"per_rank": [1, null, {"rank": 0, "wall_ns": -5}]}, "findings": {},
          "memory": {"per_rank": {"a": 1}}, "stragglers": null})",
      "x");
  ASSERT_TRUE(facts.ok());
  EXPECT_TRUE(facts->per_rank.empty());
  EXPECT_FALSE(facts->stragglers);
  EXPECT_FALSE(facts->exposed_share);
  EXPECT_FALSE(facts->names);
}

TEST(RunFacts, WhatRanksWaitedForACoreIsAMeanPerStep) {
  const auto waited = [](const std::string& details) {
    const Result<RunFacts> facts = facts_of_json(
        R"({"schema": "dprof.report/1", "run": {"steps": {"steady": 2}}, "breakdown": {"per_rank": [
            {"rank": 0, "wall_ns": 100, "category_ns": {"forward": 100}, "detail_ns": )" +
            details + R"(}, {"rank": 1, "wall_ns": 100, "category_ns": {"forward": 100}}]}})",
        "x");
    return facts.ok() ? facts->waited_for_core_ns : std::optional(-1.0);
  };
  EXPECT_EQ(waited(R"({"compute.runnable": 40, "host.preempted": 20, "overlapped.forward": 5})"),
            15);
  EXPECT_EQ(waited(R"({"overlapped.forward": 5})"), std::nullopt);
}

TEST(RunFacts, AreWhatTheReportSays) {
  Report report;
  report.run = {
      .name = "r", .ranks = 2, .hosts = 1, .world_size = 4, .environment = {{"gpu", "X"}}};
  report.run.steps = StepsInfo{.steady = 2, .median_ns = 10, .lengths_ns = {9, 11}};
  RankBreakdown rank{.rank = 1, .wall_ns = 20};
  rank.category_ns[static_cast<size_t>(Category::kForward)] = 15;
  rank.category_ns[static_cast<size_t>(Category::kExposedWait)] = 5;
  report.breakdown = Breakdown{{rank}};
  report.stragglers.emplace();
  report.recording.lost = {{.reason = schema::LossReason::kRingFull, .count = 5},
                           {.reason = schema::LossReason::kSkippedRow, .count = 7}};
  report.names = Names{{0}, {{"mm", true, 2, 8, 6}}, 3};
  const Result<RunFacts> facts = facts_of_json(render_json(report), "x");
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->environment.at("gpu"), "X");
  EXPECT_EQ(facts->lost, 5) << "what an importer has no table for is not lost";
  EXPECT_EQ(facts->lengths_ns, (std::vector<int64_t>{9, 11}));
  EXPECT_DOUBLE_EQ(facts->per_rank.at(0).wall_ns, 10);
  EXPECT_DOUBLE_EQ(*facts->exposed_share, 0.25);
  EXPECT_TRUE(facts->stragglers->empty());
  EXPECT_TRUE(facts->names->list.at(0).on_device);
  EXPECT_EQ(facts->names->left_out, 3);
}

}  // namespace
}  // namespace dprof::analyzer
