// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analyzer/render/layout.h"
#include "analyzer/report/focus.h"
#include "analyzer/report/test_support/sample_report.h"

namespace dprof::analyzer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

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
  report.slow_links = SlowLinks();
  report.memory->leaks->clear();
  report.replay->slowdown.reset();
  report.clock->violations = 0;
  report.clock->devices.clear();
  report.stragglers->clear();
  report.findings->clear();
  report.recording.lost.clear();
  report.recording.diagnostics.clear();
  return report;
}

TEST(RenderText, SaysTheMainThingsOfAReport) {
  const std::string text = render_text(sample_report());
  for (
      const char* part : {
          "ddp-resnet",
          "2 ranks on 2 hosts   120 steps (110 steady)   3.21 steps/s",
          "2 hosts aligned, bound ±14.0 µs",
          "4,812,331 events, 1,204 lost, cost 0.4 %",
          "WHERE A STEP GOES   mean over ranks and steady steps, 307.0 ms",
          "23.0 ms waiting for rank 1 · 15.0 ms transfer",
          "12.0 ms overlaps communication",
          "  1  rank 1 holds everyone up: +45.5 ms per step (15 %), in 98 % of steps",
          "     └ 2  symptom: rank 0 waits in all_reduce",
          "→ look at what rank 1 computes more",
          "Rank 1 was killed 2.00 s before the others ended.",
          "rank 1    not called, silent for 2.00 s; in backward of step 73",
          "◀ culprit",
          "rank 1 → rank 0  87.4 kB    440         4    300 µs  1.20 ms          2",
          "any → rank 1     87.4 kB      0         0                             1",
          "rank 1 in 98 %",
          "WHAT IS NOT KNOWN",
          "rank 1: 1,204 records lost (torch, ring full); hint: record less",
          "memory       peak 1.05 MB on rank 0, device 0 (step 12, backward); resident at most 800 MB (rank 1)",
          "rank 0, device 0: grows by 4.10 kB ± 100 B per step over 110 steps; still there: 451 kB in",
          "SLOW LINKS   against comparable groups",
          "node-b (rank 1): in 1 slow group, 1.40 times as long, 2.10 ms per step, since step 40",
          "all_reduce of 25.0 MB of default_pg: 1.80 times as long from step 60 on, 4.00 ms more",
          "evening out the last stage alone would recover 90 % of that",
          "by stage, all else even: stage 2 of 2 1.170, stage 1 of 2 1.010",
          "more: --explain 1 (how finding 1 was decided) · --sections gpu,overlap,buckets",
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
      "train --with many --options that do not fit into one line of a terminal, however wide it may be, as is often the case";
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

Report healthy_report_of_three() {
  Report report = healthy_report();
  report.breakdown->per_rank.push_back(sample_breakdown(2, 128, 0));
  report.run.ranks = 3;
  report.detection->ranks = 3;
  report.detection->named_ns = 9'342'000;
  return report;
}

TEST(RenderText, AHealthyRunSaysSoAndHowSmallADelayIsSeen) {
  Report report = healthy_report_of_three();
  const std::string text = render_text(report, {.width = 120});
  for (
      const char* part : {
          "✓  no finding costs 9.3 ms (3.0 %) per step or more",
          "✓  no rank holds the others up: none costs 9.3 ms (3.0 %) per step or more",
          "·  a rank's lasting own delay below 4.0 ms (1.3 %) per step would go unnoticed, as would what slows all ranks alike",
      }) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  for (const char* part : {"WHAT IS NOT KNOWN", "HANG", "culprit", "two ranks", "SLOW LINKS",
                           "MEMORY", "REPLAY", "CLOCKS"}) {
    EXPECT_THAT(text, Not(HasSubstr(part)));
  }
}

// A rank may have been late in a few steps: what it then costs on average is not denied.
TEST(RenderText, WaitingForNoKnownReasonLeavesRoomForSingleSteps) {
  Report report = healthy_report_of_three();
  Finding waiting;
  waiting.rule = "balance.waiting";
  waiting.title = "ranks wait for each other";
  waiting.cost_ns = 20'000'000;
  report.findings = {waiting};
  EXPECT_THAT(
      render_text(report, {.width = 120}),
      HasSubstr("✓  no rank is persistently late: none costs 9.3 ms (3.0 %) in most steps"));
  report.findings->front().cost_ns = 5'000'000;
  EXPECT_THAT(render_text(report, {.width = 120}), HasSubstr("no rank holds the others up"));
  report.findings->front().cost_ns = 20'000'000;
  report.findings->front().caused_by = 0;
  EXPECT_THAT(render_text(report, {.width = 120}), HasSubstr("no rank holds the others up"));
}

TEST(RenderText, TwoRanksCannotTellWhichIsTheUsualOne) {
  Report report = healthy_report();
  EXPECT_THAT(render_text(report, {.width = 120}),
              HasSubstr("with two ranks, \"slow\" only means slower than the other"));
  report.detection.reset();
  EXPECT_THAT(render_text(report, {.width = 120}),
              HasSubstr("none costs 15.6 ms (5.0 %) per step or more"));
  EXPECT_THAT(render_text(report, {.width = 120}),
              HasSubstr("what slows both ranks alike would go unnoticed"));
}

TEST(RenderText, CollectivesOfTheStartAreShownOnRequest) {
  Report report = healthy_report();
  CollectiveSummary start = report.collectives->front();
  start.function = schema::Function::kBroadcast;
  start.per_step = 0;
  report.collectives->push_back(start);
  EXPECT_THAT(render_text(report), HasSubstr("… and 1 outside steps (--sections collectives)"));
  EXPECT_THAT(render_text(report), Not(HasSubstr("  broadcast ")));
  EXPECT_THAT(render_text(report, {.sections = std::vector{Section::kCollectives}}),
              HasSubstr("  broadcast "));
}

TEST(RenderText, GroupsThatDoTheSameAreOneLine) {
  Report report = healthy_report();
  CollectiveSummary one = report.collectives->front();
  report.collectives->clear();
  for (int group = 1; group <= 32; ++group) {
    one.communicator = fmt::format("tensor ({})", group);
    one.transfer_ns = group == 7 ? 3'000'000 : 1'000'000;
    one.wait_ns = 0;
    report.collectives->push_back(one);
  }
  const std::string text = render_text(report, {.width = 120});
  EXPECT_THAT(text, HasSubstr("tensor (7) "));
  EXPECT_THAT(text, HasSubstr("tensor (1) and 30 alike"));
  EXPECT_THAT(text, Not(HasSubstr("tensor (2)")));
}

TEST(RenderText, WhatSeveralRanksSayInTheSameWordsIsOneSentence) {
  Report report = healthy_report();
  for (int rank = 0; rank < 3; ++rank) {
    report.recording.diagnostics.push_back(
        {.code = "clock_step",
         .count = rank == 1 ? 5 : 7,
         .text = fmt::format("rank {}: the clock jumped", rank)});
  }
  EXPECT_THAT(render_text(report, {.width = 120}),
              HasSubstr("ranks 0, 2, each: the clock jumped (×7); rank 1: the clock jumped (×5)"));
  for (int rank = 0; rank < 8; ++rank) {
    const std::string words = rank == 5 ? "12 entries" : "24 entries";
    report.recording.diagnostics.push_back(
        {.code = "flight_recorder_dump", .text = fmt::format("rank {}: {}", rank, words)});
  }
  EXPECT_THAT(render_text(report, {.width = 120}),
              HasSubstr("ranks 0–4, 6, 7, each: 24 entries; rank 5: 12 entries"));
}

// A culprit could be among the ranks that are left out.
TEST(RenderText, SeenFromOneRankNothingIsCalledGood) {
  const std::string text = render_text(seen_from(healthy_report(), 0));
  EXPECT_THAT(text, Not(HasSubstr("✓")));
  EXPECT_THAT(text, HasSubstr("only findings about this rank"));
}

TEST(RenderText, ARunWithADearFindingIsNotCalledGood) {
  Report report = healthy_report();
  report.findings->push_back({.rule = "comm.x",
                              .severity = FindingSeverity::kWarn,
                              .title = "transfers",
                              .cost_ns = 20'000'000});
  const std::string text = render_text(report);
  EXPECT_THAT(text, Not(HasSubstr("nothing was found")));
  EXPECT_THAT(text, HasSubstr("1  transfers: 20.0 ms per step (6.4 %)"));
}

TEST(RenderText, PricesOfARefusedReplayAreCalledUncertain) {
  Report report = sample_report();
  EXPECT_THAT(render_text(report), Not(HasSubstr("prices are uncertain")));
  report.replay->accepted = false;
  report.replay->identity_error = 0.081;
  EXPECT_THAT(render_text(report), HasSubstr("costs are uncertain: replayed unchanged"));
}

TEST(RenderText, DetailsAreShownWhereTheyAreAskedFor) {
  const Report report = sample_report();
  EXPECT_THAT(render_text(report), Not(HasSubstr("OVERLAP")));
  const std::string text =
      render_text(report, {.sections = std::vector{Section::kOverlap, Section::kMemory}});
  EXPECT_THAT(text, HasSubstr("OVERLAP"));
  EXPECT_THAT(text, HasSubstr("rank 0 at its peak: parameters 786 kB (75 %), activations 262 kB"));
  EXPECT_THAT(text, HasSubstr("FINDINGS"));
  for (const char* part : {"RANK BY RANK", "COLLECTIVES", "WHAT IS NOT KNOWN", "more: "})
    EXPECT_THAT(text, Not(HasSubstr(part)));
  EXPECT_THAT(render_text(report, {.besides = {Section::kGpu}}), HasSubstr("GPU   rows: linked"));
}

TEST(RenderText, EnergyHasItsBoundOrSaysWhyThereIsNone) {
  Report report = sample_report();
  report.energy = Energy{.per_rank = {{.rank = 1,
                                       .shared_by = 2,
                                       .step_j = 2.345,
                                       .bound_j = 0.4,
                                       .waiting_j = 1.2,
                                       .throttled_share = 0.1}},
                         .per_host = {{.host = "node-a", .step_j = 31, .bound_j = 2}},
                         .missing = {}};
  const std::string text = render_text(report, {.sections = {{Section::kEnergy}}});
  EXPECT_THAT(text, HasSubstr("1    2.35 J  0.4 J             1.2 J       10 %    2 ranks"));
  EXPECT_THAT(text, HasSubstr("node-a      31 J  2 J"));
  EXPECT_THAT(render_text(report), HasSubstr("gpu,energy,overlap"));
  report.energy = Energy{.per_rank = {}, .per_host = {}, .missing = "the GPUs were not sampled"};
  EXPECT_THAT(render_text(report, {.sections = {{Section::kEnergy}}}),
              HasSubstr("ENERGY   not known: the GPUs were not sampled"));
  EXPECT_THAT(render_text(report), Not(HasSubstr("energy")));
}

TEST(RenderText, AHangAloneIsAFewLines) {
  const TextOptions alone = {.sections = {{Section::kHang}}};
  EXPECT_THAT(render_text(healthy_report(), alone),
              AllOf(HasSubstr("HANG     no rank waits"), Not(HasSubstr("FINDINGS")),
                    Not(HasSubstr("WHERE A STEP GOES"))));
  EXPECT_THAT(render_text(healthy_report()), Not(HasSubstr("HANG")));
  Report report = healthy_report();
  report.hang = Hang{};
  report.hang->state = "waiting";
  const std::string text = render_text(report, alone);
  EXPECT_THAT(text, AllOf(HasSubstr("HANG   waiting"), Not(HasSubstr("no rank waits"))));
  EXPECT_THAT(text, AllOf(HasSubstr("clock "), Not(HasSubstr("FINDINGS"))));
  EXPECT_THAT(render_text(report), AllOf(HasSubstr("HANG   waiting"), HasSubstr("FINDINGS")));
}

TEST(RenderText, RanksThatAreAlikeAreOneLine) {
  Report report = healthy_report();
  report.breakdown = Breakdown{{sample_breakdown(0, 82, 1), sample_breakdown(1, 82, 2)}};
  EXPECT_THAT(
      render_text(report),
      HasSubstr(
          "RANK BY RANK   all 2 alike: no part differs by more than 1.0 ms per step from the"));
  EXPECT_THAT(render_text(report, {.sections = std::vector{Section::kRanks}}),
              HasSubstr("  rank   step  forward"));
}

TEST(RenderText, OfManyRanksThoseThatMatterAreShown) {
  Report report = healthy_report();
  report.breakdown->per_rank.clear();
  for (int rank = 0; rank < 40; ++rank)
    report.breakdown->per_rank.push_back(sample_breakdown(rank, 82, rank == 7 ? 0 : 30 + rank));
  report.run.ranks = 40;
  report.stragglers = {{.rank = 7, .shape = "persistent", .evidence = {}}};
  const std::string text = render_text(report);
  EXPECT_THAT(text, HasSubstr("of 40 ranks"));
  for (const char* part : {"◀ culprit", "waits longest", "\n  median"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_LT(lines_of(text.substr(text.find("RANK BY RANK"))).size(), 24U);
}

TEST(RenderText, AReportOfNothingPrintsNoZeros) {
  Report report;
  report.run.name = "empty";
  report.run.ranks = 2;
  report.run.hosts = 1;
  report.recording.diagnostics = {make_diagnostic("no_steps", "No training step was found.")};
  const std::string text = render_text(report);
  EXPECT_THAT(text, HasSubstr("no steps found"));
  EXPECT_THAT(text, HasSubstr("unknown: this run has no breakdown"));
  EXPECT_THAT(text, HasSubstr("stragglers: not known"));
  EXPECT_THAT(text, HasSubstr("No training step was found; hint: mark steps"));
  EXPECT_THAT(text, HasSubstr("cost unknown"));
  EXPECT_THAT(text, Not(HasSubstr("0.0")));
  EXPECT_THAT(text, Not(HasSubstr("no straggler found")));
}

TEST(RenderText, SmallPartsOfAStepAreSummedUpAndZeroOnesLeftOut) {
  Report report = healthy_report();
  for (RankBreakdown& rank : report.breakdown->per_rank) {
    for (const Category c : {Category::kIdle, Category::kDependency}) {
      rank.category_ns[static_cast<size_t>(c)] = 22'000'000;
      rank.wall_ns += 22'000'000;
    }
  }
  const std::string text = render_text(report);
  EXPECT_THAT(text, HasSubstr("  rest             0.4 ms"));
  EXPECT_THAT(text, Not(HasSubstr("\n  idle ")));
  EXPECT_THAT(text, Not(HasSubstr("\n  allocator ")));
}

TEST(RenderText, ShowsAsManyFindingsAsAsked) {
  Report report = sample_report();
  report.findings->assign(5, report.findings->front());
  const std::string text = render_text(report, {.top = 2});
  EXPECT_THAT(text, HasSubstr("…  and 3 more (--top 5)"));
}

TEST(RenderText, SymptomsTakeOneLineEachAndNoPlaceOfACause) {
  Report report = sample_report();
  report.findings->resize(6, report.findings->back());
  report.findings->push_back({.rule = "host.x", .title = "something else", .evidence = {}});
  const std::string text = render_text(report, {.top = 2});
  EXPECT_THAT(text, HasSubstr("     └ 4  symptom: rank 0 waits"));
  EXPECT_THAT(text, HasSubstr("     └ and 2 more symptoms: 5, 6"));
  EXPECT_THAT(text, HasSubstr("  7  something else"));
  EXPECT_THAT(text, Not(HasSubstr("--top ")));
}

TEST(RenderText, DiagnosticsOfOneKindShareALineAndItsHint) {
  Report report = healthy_report();
  for (int rank = 0; rank < 6; ++rank) {
    report.recording.diagnostics.push_back(
        make_diagnostic("open_ranges", fmt::format("rank {}: {} ranges", rank, rank + 2)));
    report.recording.diagnostics.push_back(make_diagnostic("not_computed", "memory: not analysed"));
  }
  EXPECT_THAT(
      render_text(report, {.width = 120}),
      HasSubstr(
          "·  rank 0: 2 ranges; rank 1: 3 ranges; rank 2: 4 ranges; rank 3: 5 ranges; and 2 more; hint: "));
}

TEST(RenderText, WhatWasNotComputedIsOneLineAndItsReasonsOnRequest) {
  Report report = healthy_report();
  report.recording.diagnostics = {make_diagnostic("not_computed", "memory: nothing listened"),
                                  make_diagnostic("not_computed", "contention: too few")};
  EXPECT_THAT(render_text(report),
              HasSubstr("·  not computed: memory, contention (why: --sections unknown)"));
  EXPECT_THAT(render_text(report, {.sections = std::vector{Section::kUnknown}}),
              HasSubstr("·  memory: nothing listened\n"));
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

TEST(Sections, AreNamedInAnyOrderAndComeInTheReports) {
  const Result<std::vector<Section>> some = parse_sections("links,ranks,links");
  ASSERT_TRUE(some.ok());
  EXPECT_THAT(*some, ElementsAre(Section::kRanks, Section::kLinks));
  EXPECT_THAT(*parse_sections("all"), SizeIs(kSections));
  EXPECT_THAT(*parse_sections("none"), IsEmpty());
}

TEST(Sections, EachHasAWordOfItsOwn) {
  const Result<std::vector<Section>> all = parse_sections("all");
  ASSERT_TRUE(all.ok());
  for (const Section section : *all) {
    const Result<std::vector<Section>> one = parse_sections(word_of(section));
    ASSERT_TRUE(one.ok()) << word_of(section);
    EXPECT_THAT(*one, ElementsAre(section));
  }
}

TEST(Sections, AnUnknownNameIsAUsageErrorThatListsThem) {
  for (const char* wrong : {"", "nonsense", "ranks,", "ranks,,links", "ranks links", "all,ranks"}) {
    const Result<std::vector<Section>> none = parse_sections(wrong);
    ASSERT_FALSE(none.ok()) << wrong;
    EXPECT_EQ(none.error().code, Code::kUsage);
    EXPECT_THAT(none.error().hint, HasSubstr("ranks,phases,"));
  }
}

}  // namespace
}  // namespace dprof::analyzer
