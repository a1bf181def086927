// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/render/text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analyzer/report/render/layout.h"
#include "analyzer/report/render/sample_report_internal.h"

namespace dprof::analyzer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string without_escapes(std::string text) {
  for (size_t at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b', at)) {
    text.erase(at, text.find('m', at) - at + 1);
  }
  return text;
}

Report healthy_report() {
  Report report = sample_report();
  report.hang.reset();
  report.stragglers->clear();
  report.findings->clear();
  report.recording.lost.clear();
  report.recording.diagnostics.clear();
  return report;
}

TEST(RenderText, SaysTheMainThingsOfAReport) {
  const std::string text = render_text(sample_report());
  for (const char* part : {
           "ddp-resnet",
           "2 ranks on 2 hosts   120 steps (110 steady)   3.21 steps/s",
           "2 hosts aligned, bound ±14.0 µs",
           "4,812,331 events, 1,204 lost, cost 0.4 %",
           "WHERE A STEP GOES   mean over ranks and steady steps, 307.0 ms",
           "23.0 ms waiting for rank 1 · 15.0 ms transfer",
           "12.0 ms of it beside communication",
           "  1  rank 1 holds everyone up: +45.5 ms per step (15 %), in 98 % of steps",
           "a symptom of 1",
           "→ look at what rank 1 computes more",
           "Rank 1 was killed 2.00 s before the others ended.",
           "rank 1    not called, silent for 2.00 s; in backward of step 73",
           "◀ culprit",
           "rank 1 → rank 0  87.4 kB    440         4    300 µs  1.20 ms          2",
           "any → rank 1     87.4 kB      0         0                             1",
           "rank 1 in 98 %",
           "WHAT IS NOT KNOWN",
           "rank 1: 1,204 records lost (torch, ring full); hint: record less",
       }) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(RenderText, FitsTheWidthAndHasNoTrailingBlanks) {
  Report report = sample_report();
  report.run.command = std::string(300, 'x') + " y";
  report.findings->front().title +=
      ", and a title that goes on and on until it does not fit any line that there is";
  report.recording.diagnostics.push_back(make_diagnostic(
      "few_steps",
      "word and another word, " + std::string(60, 'a') + " and much more text than fits a line"));
  report.run.command =
      "train --with many --options that do not fit into one line of a terminal, however wide it "
      "may be, "
      "as is often the case";
  for (const int width : {80, 100, 120}) {
    for (const std::string& line : lines_of(render_text(report, {.width = width}))) {
      EXPECT_LE(display_width(line), static_cast<size_t>(width)) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
      EXPECT_THAT(line, Not(HasSubstr("\x1b")));
    }
  }
}

TEST(RenderText, ColourChangesNothingButColour) {
  const std::string plain = render_text(sample_report());
  const std::string coloured = render_text(sample_report(), {.colour = true});
  EXPECT_NE(plain, coloured);
  EXPECT_EQ(without_escapes(coloured), plain);
}

TEST(RenderText, AHealthyRunSaysSoAndHowSmallADelayIsSeen) {
  Report report = healthy_report();
  EXPECT_THAT(render_text(report),
              HasSubstr("no rank costs the others 5 % of a step (15.6 ms) or more"));
  report.breakdown->per_rank.push_back(sample_breakdown(2, 128, 0));
  const std::string text = render_text(report);
  EXPECT_THAT(
      text,
      HasSubstr("✓  no straggler found: no rank costs the others 3 % of a step (9.3 ms) or more"));
  EXPECT_THAT(text, Not(HasSubstr("WHAT IS NOT KNOWN")));
  EXPECT_THAT(text, Not(HasSubstr("HANG")));
  EXPECT_THAT(text, Not(HasSubstr("culprit")));
}

TEST(RenderText, AReportOfNothingPrintsNoZeros) {
  Report report;
  report.run.name = "empty";
  report.run.ranks = 2;
  report.run.hosts = 1;
  report.recording.diagnostics = {make_diagnostic("no_steps", "No training step was found.")};
  const std::string text = render_text(report);
  EXPECT_THAT(text, HasSubstr("no steps found"));
  EXPECT_THAT(text, HasSubstr("not known: no breakdown could be made"));
  EXPECT_THAT(text, HasSubstr("stragglers: not known"));
  EXPECT_THAT(text, HasSubstr("No training step was found; hint: mark steps"));
  EXPECT_THAT(text, HasSubstr("cost not known"));
  EXPECT_THAT(text, Not(HasSubstr("0.0")));
  EXPECT_THAT(text, Not(HasSubstr("no straggler found")));
}

TEST(RenderText, SmallPartsOfAStepAreSummedUpAndZeroOnesLeftOut) {
  Report report = healthy_report();
  for (RankBreakdown& rank : report.breakdown->per_rank) {
    for (const Category c : {Category::kIdle, Category::kDependency}) {
      rank.category_ns[static_cast<size_t>(c)] = 110 * 200'000;
      rank.wall_ns += 110 * 200'000;
    }
  }
  const std::string text = render_text(report);
  EXPECT_THAT(text, HasSubstr("  rest             0.4 ms"));
  EXPECT_THAT(text, Not(HasSubstr("\n  idle ")));
  EXPECT_THAT(text, Not(HasSubstr("\n  allocator ")));
}

TEST(RenderText, ShowsAsManyFindingsAsAsked) {
  Report report = sample_report();
  report.findings->resize(5, report.findings->front());
  const std::string text = render_text(report, {.top = 2});
  EXPECT_THAT(text, HasSubstr("…  and 3 more (--top 5)"));
}

TEST(RenderText, DiagnosticsOfOneKindShareALineAndItsHint) {
  Report report = healthy_report();
  for (int rank = 0; rank < 6; ++rank) {
    report.recording.diagnostics.push_back(
        make_diagnostic("open_ranges", fmt::format("rank {}: 2 ranges", rank)));
    report.recording.diagnostics.push_back(make_diagnostic("not_computed", "memory: not analysed"));
  }
  EXPECT_THAT(render_text(report, {.width = 120}),
              HasSubstr("·  rank 0: 2 ranges; rank 1: 2 ranges; rank 2: 2 ranges; rank 3: 2 "
                        "ranges; and 2 more; hint: "));
}

TEST(RenderText, ManyLossesDoNotFloodTheReport) {
  Report report = healthy_report();
  report.recording.lost.assign(100, {.rank = 3,
                                     .source = schema::Source::kTorch,
                                     .reason = schema::LossReason::kDisk,
                                     .count = 1});
  EXPECT_THAT(render_text(report),
              HasSubstr("rank 3: 1 record lost (torch, disk); and 92 more such lines"));
}

TEST(RenderText, RanksThatAreMissingAreSaid) {
  Report report = healthy_report();
  report.run.world_size = 8;
  EXPECT_THAT(render_text(report), HasSubstr("2 of 8 ranks on 2 hosts"));
}

TEST(RenderText, MessagesOfManyRanksAreFewLines) {
  Report report = healthy_report();
  report.point_to_point.emplace();
  for (int worker = 0; worker < 63; ++worker) {
    PointToPoint push{.communicator = "default_pg", .from = worker, .to = 63, .bytes = 8'000};
    push.n = 110;
    push.per_step = 1;
    push.transfer_ns = 1'000'000;
    push.wait_ns = worker * 1'000;
    report.point_to_point->push_back(push);
  }
  EXPECT_THAT(render_text(report), HasSubstr("ranks 0–62 → rank 63  8.00 kB  6,930"));
}

TEST(RenderText, MoreRoutesThanAskedAreCounted) {
  Report report = healthy_report();
  report.point_to_point.emplace();
  for (int64_t size = 1; size <= 12; ++size) {
    report.point_to_point->push_back(
        {.communicator = "default_pg", .from = 0, .to = 1, .bytes = size, .n = 1});
  }
  EXPECT_THAT(render_text(report, {.top = 3}), HasSubstr("… and 9 more (--top 12)"));
}

TEST(RenderText, PhasesAreShownWhereTheBreakdownDoesNotSayItAll) {
  Report report = healthy_report();
  EXPECT_THAT(render_text(report), HasSubstr("  serve           6    3.0      3.0        1  1"));
  report.phases->pop_back();
  EXPECT_THAT(render_text(report), Not(HasSubstr("PHASES")));
  report.phases->front().per_rank[0].per_step = 4;
  EXPECT_THAT(render_text(report), HasSubstr("PHASES"));
}

TEST(RenderText, ManyPhasesAreCutToTheLongest) {
  Report report = healthy_report();
  for (int64_t i = 0; i < 40; ++i) {
    report.phases->push_back({.name = fmt::format("batch number {} of quite a lot of batches", i),
                              .per_rank = {{.rank = 0, .per_step = 1, .mean_ns = i * 1'000'000}}});
  }
  const std::string text = render_text(report);
  EXPECT_THAT(text, HasSubstr("batch number 39 of quite a lot of b…"));
  EXPECT_THAT(text, Not(HasSubstr("batch number 1 ")));
  EXPECT_THAT(text, HasSubstr("… and 26 more (--format json has them all)"));
}

TEST(RenderText, TextsFromTheRunCannotSteerTheTerminal) {
  Report report = sample_report();
  report.phases->front().name = "evil\x1b[2J";
  report.phases->back().name = "serve\n";
  report.run.name = "evil\x1b[2J";
  report.run.command = "a\nb";
  EXPECT_THAT(render_text(report), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace dprof::analyzer
