// SPDX-License-Identifier: Apache-2.0
#include "analyzer/check/formats.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analyzer/check/test_support/made_run.h"

namespace dprof::analyzer {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

CheckResult bad_result() {
  RunFacts run = made_run(2, 1.08);
  run.name = "a<b>&\"c\"\x01,%";
  run.findings = {{.rule = "balance.straggler",
                   .severity = FindingSeverity::kCritical,
                   .title = "100% of <steps>: rank 1, \"slow\"\nand more",
                   .advice = "look & see"},
                  {.rule = "comm.links", .severity = FindingSeverity::kWarn, .title = "slow"}};
  const RunFacts base = made_run(1);
  CheckSettings settings;
  settings.budgets.input_wait_share = 0.1;
  return check({.runs = std::span(&run, 1), .baselines = std::span(&base, 1), .today = {}},
               settings);
}

size_t count(const std::string& text, std::string_view what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(CheckFormats, JunitCountsWhatItHasAndEscapes) {
  const std::string xml = render_check_junit(bad_result());
  EXPECT_THAT(xml, StartsWith("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "));
  EXPECT_THAT(xml, HasSubstr("a&lt;b&gt;&amp;&quot;c&quot;"));
  EXPECT_THAT(xml, HasSubstr("tests=\"5\" failures=\"2\" errors=\"0\" skipped=\"1\" time=\"0\""));
  EXPECT_EQ(count(xml, "<failure "), 2U);
  EXPECT_EQ(count(xml, "<skipped "), 1U);
  EXPECT_EQ(count(xml, "<testcase "), 5U);
  for (const char c : xml) EXPECT_FALSE(c >= 0 && c < 0x20 && c != '\n') << int{c};
}

TEST(CheckFormats, GithubTakesTenAnnotations) {
  CheckResult result = bad_result();
  const std::string text = render_check_github(result);
  EXPECT_THAT(text, StartsWith("::error title=dprof%3A step_time::suspect: step time +"));
  EXPECT_THAT(text, HasSubstr("::warning title=dprof%3A comm.links::slow\n"));
  EXPECT_THAT(text, HasSubstr("100%25 of <steps>: rank 1, \"slow\"%0Aand more"));
  EXPECT_THAT(text, HasSubstr("::notice title=dprof check%3A FAILED::"));
  for (int i = 0; i < 30; ++i) result.cases.push_back(result.cases.front());
  const std::string many = render_check_github(result);
  EXPECT_LE(count(many, "\n"), kMostAnnotations);
}

TEST(CheckFormats, MetricsEndAndGitlabsAreRounded) {
  const CheckResult result = bad_result();
  const std::string text = render_check_openmetrics(result);
  EXPECT_THAT(text, HasSubstr("# TYPE dprof_step_seconds gauge\n# UNIT dprof_step_seconds seconds\n"
                              "# HELP dprof_step_seconds "));
  EXPECT_THAT(text, HasSubstr("dprof_check_code{run=\""));
  EXPECT_THAT(text, EndsWith("\n# EOF\n"));
  const std::string gitlab = render_check_gitlab(result);
  EXPECT_THAT(gitlab, HasSubstr("\ndprof_step_seconds 0.11\n"));
  EXPECT_THAT(gitlab, HasSubstr("\ndprof_check_code 1\n"));
}

// A metric family has one header, and the names from the trace are escaped.
TEST(CheckFormats, MetricsOfPhasesHaveALabel) {
  CheckResult result = bad_result();
  for (const char* name : {"for\"ward", "backward"}) {
    result.metrics.push_back({.name = "phase_seconds",
                              .unit = "seconds",
                              .help = "A marked phase, per step.",
                              .value = 0.021,
                              .half_width = {},
                              .of = name});
  }
  const std::string gitlab = render_check_gitlab(result);
  EXPECT_THAT(gitlab, HasSubstr("dprof_phase_seconds{of=\"for\\\"ward\"} 0.021\n"
                                "dprof_phase_seconds{of=\"backward\"} 0.021\n"));
  EXPECT_EQ(count(gitlab, "# TYPE dprof_phase_seconds gauge"), 1U);
  EXPECT_THAT(render_check_openmetrics(result), HasSubstr(",of=\"backward\"} 0.021"));
  const auto list = nlohmann::json::parse(render_check_benchmark(result));
  EXPECT_EQ(list.back()["name"], "dprof phase_seconds backward");
}

TEST(CheckFormats, JsonAndBenchmarkAreRead) {
  const auto json = nlohmann::json::parse(render_check_json(bad_result()));
  EXPECT_EQ(json["schema"], "dprof.check/1");
  EXPECT_EQ(json["verdict"], "failed");
  EXPECT_EQ(json["code"], 1);
  EXPECT_EQ(json["diff"]["schema"], "dprof.diff/1");
  const auto list = nlohmann::json::parse(render_check_benchmark(bad_result()));
  ASSERT_TRUE(list.is_array());
  EXPECT_EQ(list[0]["name"], "dprof step_seconds");
  EXPECT_TRUE(list[0]["value"].is_number());
}

TEST(CheckFormats, MarkdownIsNeverTooLong) {
  CheckResult result = bad_result();
  for (int i = 0; i < 400; ++i) {
    result.cases.push_back({.name = "rule",
                            .outcome = Outcome::kFailed,
                            .says = std::string(5000, 'x'),
                            .advice = {}});
  }
  for (int i = 0; i < 900; ++i)
    result.diff->dissimilar.push_back({"host", std::string(400, 'h'), "i", false, "why"});
  const std::string text = render_check_markdown(result);
  EXPECT_LE(text.size(), kMostMarkdown);
  EXPECT_THAT(text, HasSubstr("dprof check: FAILED"));
}

TEST(CheckFormats, TextSaysTheAnswerFirst) {
  const std::string text = render_check_text(bad_result(), {});
  EXPECT_THAT(text, StartsWith("FAILED  a<b>"));
  EXPECT_THAT(text, HasSubstr("would have been detected"));
  EXPECT_THAT(text, HasSubstr("✗ "));
  EXPECT_THAT(text, HasSubstr("WHERE THE CHANGE IS"));
}

}  // namespace
}  // namespace dprof::analyzer
