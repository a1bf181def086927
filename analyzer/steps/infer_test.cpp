// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "analyzer/digest/digest.h"
#include "analyzer/steps/steps.h"
#include "analyzer/waits/test_support/matched.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer {
namespace {

using test_support::RunSpec;
using test_support::RunTimes;
using test_support::StepMarks;
using ::testing::Contains;
using ::testing::Not;

struct Read {
  RunTimes truth;
  std::vector<RankDigest> digests;
  Matching matching;
};

Read read_run(const RunSpec& spec) {
  const test_support::TemporaryFolder folder;
  Result<RunTimes> truth = test_support::write_run(folder.path() / "run", spec);
  EXPECT_TRUE(truth.ok());
  Read read{.truth = *std::move(truth), .digests = {}, .matching = {}};
  for (int rank = 0; rank < spec.ranks; ++rank) {
    TraceFile file;
    file.path = folder.path() / "run" / test_support::trace_file_name(rank);
    file.rank = rank;
    Result<RankDigest> digest = digest_rank(file);
    EXPECT_TRUE(digest.ok());
    read.digests.push_back(*std::move(digest));
  }
  read.matching = matched(read.digests, true);
  return read;
}

std::vector<std::string> codes(const std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> all;
  for (const Diagnostic& diagnostic : diagnostics) all.push_back(diagnostic.code);
  return all;
}

// Every step but the last is found, at most `share` of its length off.
void expect_steps_of(const RankDigest& digest, const std::vector<test_support::StepTimes>& truth,
                     double share) {
  ASSERT_EQ(digest.steps.size(), truth.size() - 1) << "rank " << digest.rank;
  for (size_t s = 0; s + 1 < truth.size(); ++s) {
    EXPECT_EQ(digest.steps[s].index, static_cast<int64_t>(s));
    const auto length = static_cast<double>(truth[s].step.length());
    EXPECT_LT(std::abs(static_cast<double>(digest.steps[s].window.begin.ns - truth[s].step.begin)),
              share * length)
        << "begin of step " << s << " of rank " << digest.rank;
    EXPECT_LT(std::abs(static_cast<double>(digest.steps[s].window.length().ns) - length),
              share * length)
        << "length of step " << s << " of rank " << digest.rank;
  }
}

struct HiddenCase {
  const char* name;
  bool buckets;  // collectives record their DDP bucket
  int ranks;
  int64_t micro_steps;
};

class HiddenMarksTest : public ::testing::TestWithParam<HiddenCase> {};

// Target (docs/analysis/steps.md): with the marks hidden, all steps are found, with boundaries
// within 1 %.
TEST_P(HiddenMarksTest, StepsAreFoundWithinAPercent) {
  const HiddenCase& c = GetParam();
  RunSpec spec;
  spec.ranks = c.ranks;
  spec.steps = 40;
  spec.marks = StepMarks::kNone;
  spec.noise = 0.03;
  spec.micro_steps = c.micro_steps;
  spec.bucket_bytes = {1'048'576, 4'194'304, 2'097'152};
  spec.transfer_ns = {500'000, 2'000'000, 1'000'000};
  Read read = read_run(spec);
  if (!c.buckets) {
    for (RankDigest& digest : read.digests) {
      digest.collectives.edit_all([](CollectiveRecord& record) { record.bucket.reset(); });
    }
  }
  std::vector<Diagnostic> diagnostics;
  infer_steps(read.digests, read.matching, diagnostics);
  EXPECT_THAT(codes(diagnostics), Contains("steps_inferred"));
  for (size_t r = 0; r < read.digests.size(); ++r) {
    EXPECT_EQ(read.digests[r].step_source, schema::StepSource::kInferred);
    expect_steps_of(read.digests[r], read.truth.ranks[r].steps, 0.01);
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, HiddenMarksTest,
                         ::testing::Values(HiddenCase{"ddp_buckets", true, 4, 1},
                                           HiddenCase{"order", false, 4, 1},
                                           HiddenCase{"one_rank", false, 1, 1},
                                           HiddenCase{"accumulated", false, 2, 3}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(InferStepsTest, WithoutCollectivesOperatorsTell) {
  RunSpec spec;
  spec.ranks = 1;
  spec.steps = 30;
  spec.marks = StepMarks::kNone;
  spec.collectives = false;
  Read read = read_run(spec);
  ASSERT_FALSE(read.digests[0].tokens.empty());
  std::vector<Diagnostic> diagnostics;
  infer_steps(read.digests, read.matching, diagnostics);
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].code, "steps_inferred");
  EXPECT_EQ(read.digests[0].steps.size(), 29U);
  const auto& truth = read.truth.ranks[0].steps;
  for (size_t s = 1; s < 29; ++s) {
    EXPECT_NEAR(static_cast<double>(read.digests[0].steps[s].window.length().ns),
                static_cast<double>(truth[s].step.length()),
                0.01 * static_cast<double>(truth[s].step.length()));
  }
}

TEST(InferStepsTest, RankWithoutMarksTakesThoseOfItsPeers) {
  RunSpec spec;
  spec.ranks = 3;
  spec.steps = 20;
  spec.noise = 0.02;
  Read read = read_run(spec);
  read.digests[1].steps.clear();
  read.digests[1].steps_begun = 0;
  std::vector<Diagnostic> diagnostics;
  infer_steps(read.digests, read.matching, diagnostics);
  EXPECT_THAT(codes(diagnostics), Contains("steps_from_peers"));
  ASSERT_EQ(read.digests[1].steps.size(), 20U);
  for (size_t s = 0; s < 20; ++s) {
    const auto& truth = read.truth.ranks[1].steps[s].step;
    EXPECT_NEAR(static_cast<double>(read.digests[1].steps[s].window.begin.ns),
                static_cast<double>(truth.begin), 0.02 * static_cast<double>(truth.length()));
  }
}

TEST(InferStepsTest, MarkedStepsStayAsTheyAre) {
  RunSpec spec;
  spec.steps = 12;
  Read read = read_run(spec);
  const std::vector<StepRecord> before = read.digests[0].steps;
  std::vector<Diagnostic> diagnostics;
  infer_steps(read.digests, read.matching, diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  ASSERT_EQ(read.digests[0].steps.size(), before.size());
  for (size_t s = 0; s < before.size(); ++s)
    EXPECT_EQ(read.digests[0].steps[s].window, before[s].window);
}

TEST(InferStepsTest, RankThatCountsFromAnotherNumberIsRenumbered) {
  RunSpec spec;
  spec.ranks = 3;
  spec.steps = 20;
  Read read = read_run(spec);
  std::vector<StepRecord>& late = read.digests[2].steps;  // its recording began after four steps
  late.erase(late.begin(), late.begin() + 4);
  for (size_t s = 0; s < late.size(); ++s) late[s].index = static_cast<int64_t>(s);
  std::vector<Diagnostic> diagnostics;
  infer_steps(read.digests, read.matching, diagnostics);
  EXPECT_THAT(codes(diagnostics), Contains("steps_renumbered"));
  EXPECT_EQ(late.front().index, 4);
  const auto steps = align_steps(read.digests, {}, diagnostics);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->info.count, 16);
  EXPECT_EQ(steps->steps.front().index, 4);
}

TEST(InferStepsTest, OverlappingMarksGiveWayToTheNextEvidence) {
  RunSpec spec;
  spec.ranks = 2;
  spec.steps = 20;
  Read read = read_run(spec);
  for (StepRecord& step : read.digests[0].steps) step.window.end += step.window.length();
  std::vector<Diagnostic> diagnostics;
  infer_steps(read.digests, read.matching, diagnostics);
  EXPECT_THAT(codes(diagnostics), Contains("step_marks_not_used"));
  EXPECT_EQ(read.digests[0].step_source, schema::StepSource::kOptimizer);
  EXPECT_EQ(read.digests[0].steps.size(), 19U);
}

TEST(InferStepsTest, MarksThatDisagreeWithThePeersAreNotUsed) {
  RunSpec spec;
  spec.ranks = 4;
  spec.steps = 20;
  Read read = read_run(spec);
  std::vector<StepRecord> halves;  // each micro-step was marked as a step
  for (const StepRecord& step : read.digests[1].steps) {
    const TraceNs middle = step.window.begin + DurationNs{step.window.length().ns * 3 / 4};
    halves.push_back({static_cast<int64_t>(halves.size()), {step.window.begin, middle}});
    halves.push_back({static_cast<int64_t>(halves.size()), {middle, step.window.end}});
  }
  read.digests[1].steps = halves;
  read.digests[1].phases.clear();
  std::vector<Diagnostic> diagnostics;
  infer_steps(read.digests, read.matching, diagnostics);
  EXPECT_THAT(codes(diagnostics), Contains("step_marks_not_used"));
  EXPECT_THAT(codes(diagnostics), Contains("steps_from_peers"));
  EXPECT_EQ(read.digests[1].steps.size(), 20U);
}

TEST(InferStepsTest, NothingThatRepeatsGivesNoSteps) {
  RankDigest digest;
  digest.communicators.push_back({});
  int64_t now = 0;
  for (int64_t i = 0; i < 100; ++i) {
    CollectiveRecord record;
    record.sequence = i;
    record.bytes = (i * i * 7919) % 97;
    now += 1000 + (i * 31337) % 5000;
    record.enqueue = record.start = TraceNs{now};
    record.end = TraceNs{now + 500};
    digest.collectives.push_back(record);
  }
  std::vector<RankDigest> digests = {digest};
  const Matching matching = matched(digests, true);
  std::vector<Diagnostic> diagnostics;
  infer_steps(digests, matching, diagnostics);
  EXPECT_TRUE(digests[0].steps.empty());
  EXPECT_THAT(codes(diagnostics), Not(Contains("steps_inferred")));
}

}  // namespace
}  // namespace dprof::analyzer
