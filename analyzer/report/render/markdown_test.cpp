// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/render/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/report/render/sample_report_internal.h"

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
  EXPECT_THAT(text, HasSubstr("1. **rank 1 holds everyone up"));
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
  const std::string text = render_markdown({});
  EXPECT_THAT(text, HasSubstr("Not computed from this run."));
  EXPECT_THAT(text, HasSubstr("Not known"));
  EXPECT_THAT(text, HasSubstr("no steps found"));
}

TEST(RenderMarkdown, AWaitBelowItsClockBoundIsShownAsTheBound) {
  Report report = sample_report();
  report.collectives->front().wait_ns = 5'000;
  EXPECT_THAT(render_markdown(report), HasSubstr("≤ 28.0 µs"));
}

TEST(RenderMarkdown, ShowsNoMoreThanAskedFor) {
  const std::string text = render_markdown(sample_report(), {.top = 1});
  EXPECT_THAT(text, Not(HasSubstr("2. **")));
  EXPECT_THAT(text, HasSubstr("… and 1 more."));
}

}  // namespace
}  // namespace dprof::analyzer
