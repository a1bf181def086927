// SPDX-License-Identifier: Apache-2.0
#include "gui/html/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/check/formats.h"
#include "analyzer/check/test_support/made_run.h"
#include "analyzer/diff/render.h"
#include "analyzer/render/writers.h"

namespace dprof::html {
namespace {

using analyzer::made_run;
using analyzer::RunFacts;
using testing::HasSubstr;
using testing::Not;

analyzer::Diff slower_diff() {
  const RunFacts a = made_run(1);
  RunFacts b = made_run(2, 1.08);
  b.name = "<script>alert(1)</script>";
  return analyzer::diff_of(std::span(&a, 1), std::span(&b, 1));
}

TEST(ComparisonPage, SaysWhatTheTextSays) {
  const analyzer::Diff diff = slower_diff();
  const std::string page = render_diff_html(diff, {});
  EXPECT_THAT(page, HasSubstr(analyzer::escaped_markup(analyzer::diff_answer(diff).text)));
  EXPECT_THAT(page, HasSubstr("<p class=\"verdict critical\">"));
  for (const analyzer::Fact& fact : analyzer::diff_facts(diff).facts)
    EXPECT_THAT(page, HasSubstr(fact.label));
  EXPECT_THAT(page, HasSubstr("<h2>Where the change is</h2>"));
  EXPECT_THAT(page, HasSubstr("href=\"#where-the-change-is\""));
  EXPECT_THAT(page, HasSubstr("id=\"where-the-change-is\""));
}

TEST(ComparisonPage, NamesMakeNoMarkup) {
  const std::string page = render_diff_html(slower_diff(), {});
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert"));
}

// The bars are as wide as the longer step: part of the shorter one stays empty.
TEST(ComparisonPage, BothStepsAreOnOneScale) {
  const analyzer::Diff diff = slower_diff();
  const std::string page = render_diff_html(diff, {});
  const auto width_of_side = [&](size_t from) {
    const size_t end = page.find("</div>", from);
    double sum = 0;
    constexpr std::string_view kWidth = "width:";
    for (size_t at = page.find(kWidth, from); at < end; at = page.find(kWidth, at + 1))
      sum += std::stod(page.substr(at + kWidth.size()));
    return sum;
  };
  const size_t a = page.find("<b>A</b>");
  const size_t b = page.find("<b>B</b>");
  ASSERT_NE(b, std::string::npos);
  EXPECT_NEAR(width_of_side(b), 100, 0.1);
  EXPECT_NEAR(width_of_side(a), 100 / 1.08, 0.1);
}

TEST(ComparisonPage, ACheckHasItsCasesAndWithoutBaselineNoChanges) {
  const RunFacts run = made_run(1);
  analyzer::CheckSettings settings;
  settings.budgets.step_ms = 50;
  const analyzer::CheckResult result =
      analyzer::check({.runs = std::span(&run, 1), .baselines = {}, .today = {}}, settings);
  const std::string page = render_check_html(result, {.version = "1.2.3"});
  EXPECT_THAT(page, HasSubstr("<b class=\"word\">FAILED</b>"));
  EXPECT_THAT(page, HasSubstr("budget.step_ms"));
  EXPECT_THAT(page, HasSubstr("Made by dprof 1.2.3."));
  EXPECT_THAT(page, Not(HasSubstr("Where the change is")));
}

}  // namespace
}  // namespace dprof::html
