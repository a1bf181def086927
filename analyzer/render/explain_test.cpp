// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analyzer/render/layout.h"
#include "analyzer/report/test_support/sample_report.h"

namespace dprof::analyzer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Rank 1's trace began 1,000 ns before the run's axis.
struct Sources {
  std::vector<TraceFile> traces = {
      {.path = "my runs/rank-00001.dprof", .rank = 1, .shift_ns = -1000}};
  std::vector<RankAnalysis> ranks;

  Sources() {
    ranks.push_back({.rank = 1,
                     .clock = {},
                     .steps = {{.index = 16, .window = {{0}, {90}}},
                               {.index = 17, .window = {{90}, {950}}},
                               {.index = 18, .window = {{950}, {2000}}}},
                     .pieces = {}});
  }
  [[nodiscard]] EvidenceSources get() const { return {.traces = traces, .ranks = ranks}; }
};

std::string explained(const Report& report, int number, int width = 100) {
  const Sources sources;
  const Result<Explanation> e = explain(report, number, sources.get());
  EXPECT_TRUE(e.ok());
  return e.ok() ? render_text(*e, {.width = width}) : std::string();
}

TEST(Explain, SaysHowItWasDecidedWhatItCostsAndWhatWouldRefuteIt) {
  const std::string text = explained(sample_report(), 1);
  for (const char* part : {
           "FINDING 1 OF 2   straggler.compute · critical · compute · confidence 0.98",
           "HOW IT WAS DECIDED\n  ·  its forward was compared with the other rank's",
           "RANK 1 AGAINST THE OTHERS, ms PER STEP",
           ("  part          rank 1  the other  difference\n"
            "  forward        128.0       82.0       +46.0\n"
            "  exposed wait     0.0       46.0       -46.0\n"
            "  ·  alike, by less than 0.5 % of a step: backward, optimizer, exposed transfer"),
           "45.5 ms per step, 15 % of the median step (311.4 ms); 5.00 s over the 110 steady steps",
           "with 95 % confidence from 44.3 ms to 46.7 ms per step",
           "from a replay of the run without it; as a check, the recorded segments",
           "off by 0.8 % per step",
           "WHAT WOULD REFUTE IT\n  ·  a run with the ranks' data exchanged",
           "symptom: 2 rank 0 waits in all_reduce",
           "not ruled out: a rank's lasting own delay below 4.0 ms (1.3 %)",
       }) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Explain, EvidenceHasItsStepItsTraceAndACommand) {
  const std::string text = explained(sample_report(), 1);
  EXPECT_THAT(text, HasSubstr("host_range     2  step 17  800 ns  rank-00001.dprof"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "  sqlite3 -header 'my runs/rank-00001.dprof' \"SELECT * FROM host_range_text WHERE id IN (17, 18)\"\n"));
}

// If no row can be identified, the time on the trace's own clock selects them.
TEST(Explain, EvidenceWithoutRowsIsFoundByTime) {
  Report report = sample_report();
  Evidence& evidence = report.findings->front().evidence.front();
  evidence.rows.clear();
  evidence.table = "step";
  EXPECT_THAT(explained(report, 1, 120),
              HasSubstr("WHERE start_ns BETWEEN 1098 AND 1902 ORDER BY duration_ns DESC LIMIT 20"));
  evidence.table = "no_such_table";
  EXPECT_THAT(explained(report, 1), Not(HasSubstr("sqlite3")));
}

TEST(Explain, AnUnpricedFindingSaysSo) {
  const std::string text = explained(sample_report(), 2);
  EXPECT_THAT(text, HasSubstr("no cost: this recording does not show it"));
  EXPECT_THAT(text,
              HasSubstr("this is a symptom that should disappear with its cause: 1 rank 1 holds"));
  EXPECT_THAT(text, Not(HasSubstr("HOW IT WAS DECIDED")));
  EXPECT_THAT(text, Not(HasSubstr("WHAT WOULD REFUTE IT")));
}

TEST(Explain, AStragglerIsExplainedFromItsVerdictWhereNoSentenceIs) {
  Report report = sample_report();
  report.findings->front().decided_by.clear();
  const std::string text = explained(report, 1, 120);
  EXPECT_THAT(text, HasSubstr("46.0 ms own delay per step"));
  EXPECT_THAT(text, HasSubstr("it began in step 30"));
  report.stragglers->front().host = "node-b";
  report.stragglers->front().host_ranks = {4, 5, 6, 7};
  report.stragglers->front().role = "stage 2 of 4";
  EXPECT_THAT(explained(report, 1, 120),
              AllOf(HasSubstr("most ranks of host node-b share it (ranks 4–7)"),
                    HasSubstr("ranks of the same role only: stage 2 of 4")));
  report.stragglers->front().host.clear();
  EXPECT_THAT(explained(report, 1, 120), Not(HasSubstr("same role"))) << "the stage itself";
}

TEST(Explain, WhatWasLookedAtAndIsNotTheCauseIsSaid) {
  Report report = sample_report();
  report.hang.reset();
  report.slow_links = SlowLinks();
  for (const char* name : {"a", "b", "c"})
    report.collectives->push_back({.communicator = name, .per_step = 1});
  report.recording.lost.clear();
  report.contention->factor = 1.01;
  const std::string text = explained(report, 1);
  for (const char* part :
       {"a hang: every collective finished", "a slow link: no group", "take 1.01 times as long",
        "lost records: none", "dprof itself: writing the records took 0.4 %"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(explained(sample_report(), 1), Not(HasSubstr("a hang: every")));
  EXPECT_THAT(explained(sample_report(), 1), Not(HasSubstr("a slow link: no group")));
}

TEST(Explain, ANumberThatIsNotThereIsAUsageErrorThatSaysWhichAre) {
  Report report = sample_report();
  for (const int64_t number : {int64_t{0}, int64_t{3}, int64_t{-1}}) {
    const Result<Explanation> e = explain(report, number);
    ASSERT_FALSE(e.ok());
    EXPECT_EQ(e.error().code, Code::kUsage);
    EXPECT_THAT(e.error().hint, HasSubstr("findings 1 to 2"));
  }
  report.findings->pop_back();
  EXPECT_THAT(explain(report, 2).error().hint, HasSubstr("one finding"));
  report.findings->clear();
  EXPECT_THAT(explain(report, 1).error().hint, HasSubstr("no finding"));
  report.findings.reset();
  EXPECT_THAT(explain(report, 1).error().hint, HasSubstr("no findings were computed"));
}

TEST(Explain, FitsTheWidthAndCannotSteerTheTerminal) {
  Report report = sample_report();
  Finding& finding = report.findings->front();
  finding.evidence.front().rows.assign(20, 123'456'789);
  finding.decided_by = {std::string(40, 'x') + "\x1b[2J and more words than fit one line of it"};
  for (const int width : {80, 100, 120}) {
    std::istringstream lines(explained(report, 1, width));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_width(line), static_cast<size_t>(width)) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
      EXPECT_THAT(line, Not(HasSubstr("\x1b")));
    }
  }
}

TEST(Explain, MarkdownHasTablesAndCommandsInAFence) {
  const Sources sources;
  const Result<Explanation> e = explain(sample_report(), 1, sources.get());
  ASSERT_TRUE(e.ok());
  const std::string text = render_markdown(*e);
  EXPECT_THAT(text, HasSubstr("### dprof: finding 1 of 2\n\n**rank 1 holds everyone up"));
  EXPECT_THAT(text, HasSubstr("| part | rank 1 | the other | difference |\n"
                              "| --- | ---: | ---: | ---: |\n"));
  EXPECT_THAT(text, HasSubstr("```sh\nsqlite3 -header 'my runs/rank-00001.dprof'"));
}

}  // namespace
}  // namespace dprof::analyzer
