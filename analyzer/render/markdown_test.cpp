// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/report/test_support/sample_report.h"

namespace dprof::analyzer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RenderMarkdown, FindingsComeBeforeTheTables) {
  const std::string text = render_markdown(sample_report());
  const size_t findings = text.find("#### Findings");
  const size_t parts = text.find("#### Where a step goes");
  ASSERT_NE(findings, std::string::npos);
  ASSERT_NE(parts, std::string::npos);
  EXPECT_LT(findings, parts);
  EXPECT_THAT(
      text,
      HasSubstr(
          "| 1 | **rank 1 holds everyone up, in 98 % of steps** | 45.5 ms | 15 % | compute | critical |\n"
          "| 2 | ↳ rank 0 waits in all\\_reduce |"));
}

TEST(RenderMarkdown, NamesOfATraceMakeNoMarkup) {
  Report report = sample_report();
  report.run.name = "<script>[a](b)|*x*`";
  report.collectives->front().communicator = "a|b";
  const std::string text = render_markdown(report);
  EXPECT_THAT(text, Not(HasSubstr("<script>")));
  EXPECT_THAT(text, HasSubstr("\\<script\\>\\[a\\]"));
  EXPECT_THAT(text, HasSubstr("a\\|b"));
}

TEST(RenderMarkdown, WhatWasNotComputedIsSaid) {
  const std::string text = render_markdown(Report{});
  EXPECT_THAT(text, HasSubstr("Not computed for this run."));
  EXPECT_THAT(text, HasSubstr("Unknown: this run has no breakdown"));
  EXPECT_THAT(text, HasSubstr("no steps found"));
}

TEST(RenderMarkdown, AWaitBelowItsClockBoundIsShownAsTheBound) {
  Report report = sample_report();
  report.collectives->front().wait_ns = 5'000;
  EXPECT_THAT(render_markdown(report), HasSubstr("≤ 28.0 µs"));
}

TEST(RenderMarkdown, ShowsNoMoreThanAskedFor) {
  Report report = sample_report();
  report.findings->back().caused_by.reset();
  const std::string text = render_markdown(report, {.top = 1});
  EXPECT_THAT(text, Not(HasSubstr("| 2 |")));
  EXPECT_THAT(text, HasSubstr("… and 1 more."));
}

TEST(RenderMarkdown, DetailsAreFoldedAndTheirHeadlineIsSafeHtml) {
  Report report = sample_report();
  report.findings->front().title = "<b>rank_1</b> is slow: +45.5 ms per step (15 %)";
  const std::string text = render_markdown(report);
  EXPECT_THAT(
      text, HasSubstr("<details><summary>1: &#60;b&#62;rank&#95;1&#60;/b&#62; is slow</summary>\n\n"
                      "Its forward takes"));
  EXPECT_THAT(text, HasSubstr("- would refute it: a run with the ranks' data exchanged"));
  EXPECT_THAT(text, HasSubstr("| 1 | **\\<b\\>rank\\_1\\</b\\> is slow** | 45.5 ms |"));
  size_t open = 0;
  for (size_t at = text.find("<details>"); at != std::string::npos;
       at = text.find("<details>", at + 1))
    ++open;
  EXPECT_GE(open, 3U);
}

TEST(RenderMarkdown, AHealthyRunSaysWhatCouldNotBeSeen) {
  Report report = sample_report();
  report.hang.reset();
  report.findings->clear();
  report.stragglers->clear();
  const std::string text = render_markdown(report);
  EXPECT_THAT(text, HasSubstr("None."));
  EXPECT_THAT(text, HasSubstr("- ✓ no finding costs 9.3 ms (3.0 %) per step or more"));
  EXPECT_THAT(text, HasSubstr("as would what slows both ranks alike"));
}

}  // namespace
}  // namespace dprof::analyzer
