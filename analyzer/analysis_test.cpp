// SPDX-License-Identifier: Apache-2.0
// Whole analyses of runs with known truth (tests/support/run_builder.h).
#include "analyzer/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/test_support/sanitized.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer {
namespace {

using test_support::DelayForm;
using test_support::Phase;
using test_support::RunSpec;
using test_support::RunTimes;
using test_support::StepMarks;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kMs = kNsPerMs;

struct Analysed {
  RunTimes truth;
  Analysis analysis;
};

Analysed analysed(const RunSpec& spec, const AnalysisOptions& options = {}) {
  const test_support::TemporaryFolder folder;
  Result<RunTimes> truth = test_support::write_run(folder.path() / "run", spec);
  EXPECT_TRUE(truth.ok()) << truth.error().what;
  const auto run = open_run({folder.path() / "run"});
  EXPECT_TRUE(run.ok()) << run.error().what;
  Result<Analysis> analysis = analyze(*run, options);
  EXPECT_TRUE(analysis.ok()) << analysis.error().what;
  return {*std::move(truth), *std::move(analysis)};
}

// A light run: few operators, so that many runs can be made.
RunSpec light(int ranks, int64_t steps) {
  RunSpec spec;
  spec.ranks = ranks;
  spec.steps = steps;
  spec.ops_per_phase = 2;
  spec.op_depth = 1;
  return spec;
}

std::vector<std::string> codes(const Report& report) {
  std::vector<std::string> all;
  for (const Diagnostic& diagnostic : report.recording.diagnostics) all.push_back(diagnostic.code);
  return all;
}

int64_t category_ns(const RankBreakdown& rank, Category category) {
  return rank.category_ns[static_cast<size_t>(category)];
}

void expect_exact_sums(const Report& report) {
  ASSERT_TRUE(report.breakdown);
  for (const RankBreakdown& rank : report.breakdown->per_rank) {
    EXPECT_EQ(std::accumulate(rank.category_ns.begin(), rank.category_ns.end(), int64_t{0}),
              rank.wall_ns);
  }
}

TEST(AnalysisTest, BreakdownIsThatOfTheSimulatedRun) {
  const RunSpec spec = light(2, 30);
  const auto [truth, analysis] = analysed(spec);
  const Report& report = analysis.report;
  ASSERT_TRUE(report.run.steps);
  EXPECT_EQ(report.run.steps->count, 30);
  EXPECT_EQ(report.run.steps->first_steady, 2);
  EXPECT_EQ(report.run.steps->last_steady, 29);
  expect_exact_sums(report);
  const auto steady = static_cast<int64_t>(28);
  for (const RankBreakdown& rank : report.breakdown->per_rank) {
    const auto& steps = truth.ranks[static_cast<size_t>(rank.rank)].steps;
    int64_t wall = 0;
    for (size_t s = 2; s < steps.size(); ++s) wall += steps[s].step.length();
    EXPECT_EQ(rank.wall_ns, wall);
    EXPECT_EQ(category_ns(rank, Category::kInputWait), steady * spec.input_ns);
    EXPECT_EQ(category_ns(rank, Category::kForward), steady * spec.forward_ns);
    EXPECT_EQ(category_ns(rank, Category::kOptimizer), steady * spec.optimizer_ns);
    // Five gaps a step that only the step's range covers.
    EXPECT_EQ(category_ns(rank, Category::kHost), steady * 5 * spec.gap_ns);
    // The first bucket overlaps the rest of backward.
    EXPECT_NEAR(static_cast<double>(category_ns(rank, Category::kOverlapped)),
                static_cast<double>(steady * spec.transfer_ns[0]), 0.05 * steady * kMs);
    EXPECT_NEAR(static_cast<double>(category_ns(rank, Category::kExposedTransfer)),
                static_cast<double>(steady * spec.transfer_ns[1]), 0.05 * steady * kMs);
    EXPECT_LT(category_ns(rank, Category::kExposedWait), steady * kMs / 20);
  }
}

TEST(AnalysisTest, PiecesCoverStepsWithoutGap) {
  const auto [truth, analysis] = analysed(light(2, 10));
  for (const RankAnalysis& rank : analysis.ranks) {
    ASSERT_FALSE(rank.pieces.empty());
    for (size_t i = 1; i < rank.pieces.size(); ++i)
      EXPECT_EQ(rank.pieces[i].span.begin, rank.pieces[i - 1].span.end);
    EXPECT_LE(rank.pieces.front().span.begin, rank.steps.front().window.begin);
    EXPECT_GE(rank.pieces.back().span.end, rank.steps.back().window.end);
  }
}

TEST(AnalysisTest, WaitAndTransferAreThatOfTheSimulatedRun) {
  RunSpec spec = light(4, 30);
  spec.noise = 0.05;
  const auto [truth, analysis] = analysed(spec);
  size_t checked = 0;
  for (const MatchedCollective& c : analysis.collectives) {
    if (c.function != schema::Function::kAllReduce) continue;
    EXPECT_TRUE(c.complete);
    const auto number = static_cast<size_t>(c.sequence - 1);  // 0 is the broadcast at the start
    const size_t step = number / 2;
    const size_t bucket = number % 2;
    EXPECT_NEAR(static_cast<double>(c.transfer_ns), static_cast<double>(spec.transfer_ns[bucket]),
                10'000);
    for (const CollectiveMember& member : c.members) {
      const auto& times = truth.ranks[static_cast<size_t>(member.rank)].steps[step].buckets[bucket];
      EXPECT_NEAR(static_cast<double>(member.wait_ns), static_cast<double>(times.wait_ns), 10'000);
      ++checked;
    }
  }
  EXPECT_EQ(checked, 4U * 30 * 2);
}

struct StragglerCase {
  const char* name;
  int ranks;
  int culprit;
  Phase phase;
  DelayForm form;
  StepMarks marks;
  const char* cause;
};

class AnalysisStragglerTest : public ::testing::TestWithParam<StragglerCase> {};

TEST_P(AnalysisStragglerTest, NamesTheCulpritWithCauseAndCost) {
  const StragglerCase& c = GetParam();
  RunSpec spec = light(c.ranks, 60);
  spec.noise = 0.03;
  spec.marks = c.marks;
  spec.delays = {{.rank = c.culprit, .phase = c.phase, .ns = 12 * kMs, .form = c.form}};
  const auto [truth, analysis] = analysed(spec);
  ASSERT_TRUE(analysis.report.stragglers);
  ASSERT_EQ(analysis.report.stragglers->size(), 1U);
  const Straggler& straggler = analysis.report.stragglers->front();
  EXPECT_EQ(straggler.rank, c.culprit);
  EXPECT_EQ(straggler.shape, "persistent");
  EXPECT_EQ(straggler.cause, c.cause);
  EXPECT_NEAR(static_cast<double>(straggler.own_delay_ns), 12e6, 0.1 * 12e6);
  EXPECT_NEAR(static_cast<double>(straggler.cost_ns), 12e6, 0.15 * 12e6);
  EXPECT_GT(straggler.confidence, 0.6);
  ASSERT_FALSE(straggler.evidence.empty());
  EXPECT_EQ(straggler.evidence.front().rank, c.culprit);
  ASSERT_TRUE(analysis.report.findings && !analysis.report.findings->empty());
  EXPECT_THAT(analysis.report.findings->front().ranks, ElementsAre(c.culprit));
  EXPECT_EQ(analysis.report.findings->front().severity, FindingSeverity::kCritical);
  expect_exact_sums(analysis.report);
}

constexpr auto kMarker = StepMarks::kMarker;
constexpr auto kOptimizer = StepMarks::kOptimizer;

INSTANTIATE_TEST_SUITE_P(
    Delays, AnalysisStragglerTest,
    ::testing::Values(
        StragglerCase{"forward_of_2", 2, 1, Phase::kForward, DelayForm::kOp, kMarker, "compute"},
        StragglerCase{"sleep_in_forward_of_2", 2, 0, Phase::kForward, DelayForm::kHost, kMarker,
                      "compute"},
        StragglerCase{"backward_of_2", 2, 0, Phase::kBackward, DelayForm::kOp, kMarker, "compute"},
        StragglerCase{"sleep_in_backward_of_2", 2, 1, Phase::kBackward, DelayForm::kHost, kMarker,
                      "compute"},
        StragglerCase{"loader_of_2", 2, 1, Phase::kInput, DelayForm::kHost, kMarker, "dataloader"},
        StragglerCase{"optimizer_of_2", 2, 0, Phase::kOptimizer, DelayForm::kOp, kMarker,
                      "compute"},
        StragglerCase{"checkpoint_of_2", 2, 0, Phase::kCheckpoint, DelayForm::kHost, kMarker,
                      "checkpoint"},
        StragglerCase{"backward_of_4", 4, 2, Phase::kBackward, DelayForm::kOp, kMarker, "compute"},
        StragglerCase{"loader_of_4", 4, 3, Phase::kInput, DelayForm::kHost, kMarker, "dataloader"},
        StragglerCase{"forward_of_8", 8, 5, Phase::kForward, DelayForm::kOp, kMarker, "compute"},
        StragglerCase{"backward_of_8", 8, 7, Phase::kBackward, DelayForm::kOp, kMarker, "compute"},
        StragglerCase{"python_loader_of_2", 2, 1, Phase::kInput, DelayForm::kHost, kOptimizer,
                      "dataloader"},
        StragglerCase{"python_forward_of_2", 2, 1, Phase::kForward, DelayForm::kOp, kOptimizer,
                      "compute"},
        StragglerCase{"python_backward_of_4", 4, 1, Phase::kBackward, DelayForm::kOp, kOptimizer,
                      "compute"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(AnalysisTest, HealthyRunsNameNobody) {
  for (uint64_t seed = 1; seed <= uint64_t{repetitions(200)}; ++seed) {
    RunSpec spec = light(seed % 3 == 0 ? 4 : 2, 40);
    spec.seed = seed;
    spec.noise = seed % 2 == 0 ? 0.05 : 0.15;
    spec.input_ns = kMs / 2;
    spec.forward_ns = 4 * kMs;
    spec.backward_ns = 7 * kMs;
    spec.optimizer_ns = kMs;
    spec.bucket_bytes = {108'400};
    spec.transfer_ns = {kMs / 2};
    const auto [truth, analysis] = analysed(spec);
    ASSERT_TRUE(analysis.report.stragglers);
    EXPECT_THAT(*analysis.report.stragglers, IsEmpty())
        << "seed " << seed << ": rank " << analysis.report.stragglers->front().rank.value_or(-1)
        << " " << analysis.report.stragglers->front().shape << " costs "
        << analysis.report.stragglers->front().cost_ns;
  }
}

TEST(AnalysisTest, TransientStragglerIsNamedWithItsShape) {
  RunSpec spec = light(4, 100);
  spec.noise = 0.02;
  for (const int64_t step : {11, 23, 31, 58, 77, 83})
    spec.delays.push_back({.rank = 2, .ns = 40 * kMs, .first_step = step, .end_step = step + 1});
  const auto [truth, analysis] = analysed(spec);
  ASSERT_EQ(analysis.report.stragglers->size(), 1U);
  const Straggler& straggler = analysis.report.stragglers->front();
  EXPECT_EQ(straggler.rank, 2);
  EXPECT_EQ(straggler.shape, "transient");
  EXPECT_NEAR(static_cast<double>(straggler.cost_ns), 6 * 40e6 / 98, 0.25 * 6 * 40e6 / 98);
}

TEST(AnalysisTest, PeriodicStragglerIsNamedWithItsShape) {
  RunSpec spec = light(2, 100);
  spec.noise = 0.02;
  spec.delays = {{.rank = 0,
                  .phase = Phase::kCheckpoint,
                  .ns = 60 * kMs,
                  .first_step = 9,
                  .every = 10,
                  .form = DelayForm::kHost}};
  const auto [truth, analysis] = analysed(spec);
  ASSERT_EQ(analysis.report.stragglers->size(), 1U);
  EXPECT_EQ(analysis.report.stragglers->front().rank, 0);
  EXPECT_EQ(analysis.report.stragglers->front().shape, "periodic");
  EXPECT_EQ(analysis.report.stragglers->front().cause, "checkpoint");
}

TEST(AnalysisTest, RotatingDelayNamesNoRank) {
  RunSpec spec = light(4, 60);
  spec.noise = 0.02;
  spec.delays = {{.phase = Phase::kForward, .ns = 10 * kMs, .rotating = true}};
  const auto [truth, analysis] = analysed(spec);
  ASSERT_EQ(analysis.report.stragglers->size(), 1U);
  EXPECT_EQ(analysis.report.stragglers->front().rank, std::nullopt);
  EXPECT_EQ(analysis.report.stragglers->front().shape, "rotating");
  EXPECT_EQ(analysis.report.stragglers->front().cause, "compute");
}

TEST(AnalysisTest, SmallDelayIsALineButNoCulprit) {
  RunSpec spec = light(8, 100);
  spec.noise = 0.002;
  spec.delays = {{.rank = 3, .phase = Phase::kForward, .ns = 600'000}};
  const auto [truth, analysis] = analysed(spec);
  EXPECT_THAT(*analysis.report.stragglers, IsEmpty());
  const auto& findings = *analysis.report.findings;
  const auto found = std::ranges::find(findings, "balance.straggler", &Finding::rule);
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->severity, FindingSeverity::kInfo);
  EXPECT_THAT(found->ranks, ElementsAre(3));
}

TEST(AnalysisTest, OfTwoRanksASlowerCoreIsNoCulprit) {
  RunSpec spec = light(2, 60);
  spec.noise = 0.15;  // cores that ranks share with others
  spec.delays = {{.rank = 1, .phase = Phase::kForward, .ns = spec.forward_ns / 4},
                 {.rank = 1, .phase = Phase::kBackward, .ns = spec.backward_ns / 4}};
  const auto [truth, analysis] = analysed(spec);
  EXPECT_THAT(*analysis.report.stragglers, IsEmpty());
  const auto& findings = *analysis.report.findings;
  const auto found = std::ranges::find(findings, "balance.straggler", &Finding::rule);
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->severity, FindingSeverity::kInfo);
  // Among more ranks the same difference has a majority against it.
  spec.ranks = 4;
  EXPECT_EQ(analysed(spec).analysis.report.stragglers->front().rank, 1);
}

TEST(AnalysisTest, KilledRankIsTheHangsCulprit) {
  RunSpec spec = light(3, 20);
  spec.kill = test_support::Kill{.rank = 1, .step = 12};
  const auto [truth, analysis] = analysed(spec);
  ASSERT_TRUE(analysis.report.hang);
  EXPECT_EQ(analysis.report.hang->state, "dead");
  EXPECT_THAT(analysis.report.hang->culprits, ElementsAre(1));
  EXPECT_THAT(analysis.report.hang->waiting, ElementsAre(0, 2));
  EXPECT_EQ(analysis.report.hang->function, schema::Function::kAllReduce);
  ASSERT_GE(analysis.report.findings->size(), 2U);
  EXPECT_EQ(analysis.report.findings->at(0).rule, "run.failed");
  EXPECT_EQ(analysis.report.findings->at(0).cause, "killed");
  EXPECT_EQ(analysis.report.findings->at(1).rule, "comm.hang");
  EXPECT_EQ(analysis.report.findings->at(1).caused_by, 0);
  EXPECT_THAT(codes(analysis.report), Contains("process_killed"));
  EXPECT_THAT(codes(analysis.report), Contains("open_ranges"));
  EXPECT_THAT(codes(analysis.report), Contains("unmatched_collectives"));
  EXPECT_EQ(analysis.report.run.steps->count, 12);
  expect_exact_sums(analysis.report);
}

TEST(AnalysisTest, CompleteRunHasNoHang) {
  EXPECT_FALSE(analysed(light(2, 10)).analysis.report.hang);
}

TEST(AnalysisTest, MissingRankLeavesTheOthersComparable) {
  RunSpec spec = light(4, 40);
  spec.absent = {3};
  spec.delays = {{.rank = 0, .phase = Phase::kForward, .ns = 10 * kMs}};
  const auto [truth, analysis] = analysed(spec);
  EXPECT_THAT(codes(analysis.report), Contains("absent_rank"));
  EXPECT_EQ(analysis.report.run.ranks, 3);
  EXPECT_EQ(analysis.report.run.world_size, 4);
  ASSERT_EQ(analysis.report.stragglers->size(), 1U);
  EXPECT_EQ(analysis.report.stragglers->front().rank, 0);
  EXPECT_FALSE(analysis.collectives.back().complete);
}

TEST(AnalysisTest, WithoutCollectivesRanksAreNotCompared) {
  RunSpec spec = light(2, 20);
  spec.collectives = false;
  const auto [truth, analysis] = analysed(spec);
  EXPECT_FALSE(analysis.report.stragglers);
  EXPECT_THAT(codes(analysis.report), Contains("no_collectives"));
  EXPECT_THAT(codes(analysis.report), Contains("not_computed"));
  expect_exact_sums(analysis.report);
}

TEST(AnalysisTest, WithoutStepsNothingIsMadeUp) {
  RunSpec spec = light(2, 3);  // too few to find what repeats
  spec.marks = StepMarks::kNone;
  const auto [truth, analysis] = analysed(spec);
  EXPECT_FALSE(analysis.report.run.steps);
  EXPECT_FALSE(analysis.report.breakdown);
  EXPECT_FALSE(analysis.report.overlap);
  EXPECT_FALSE(analysis.report.stragglers);
  EXPECT_FALSE(analysis.report.findings);
  EXPECT_TRUE(analysis.report.collectives);
  EXPECT_THAT(codes(analysis.report), Contains("no_steps"));
}

TEST(AnalysisTest, ClocksOfTwoHostsDoNotMatterForTheVerdict) {
  RunSpec spec = light(4, 40);
  spec.hosts = 2;
  spec.noise = 0.02;
  spec.delays = {{.rank = 3, .phase = Phase::kBackward, .ns = 10 * kMs}};
  const Straggler one = analysed(spec).analysis.report.stragglers->front();
  spec.host_clock_offset_ns = {0, 10 * kNsPerSecond};
  const auto [truth, analysis] = analysed(spec);
  ASSERT_EQ(analysis.report.stragglers->size(), 1U);
  EXPECT_EQ(analysis.report.stragglers->front().rank, 3);
  EXPECT_EQ(analysis.report.stragglers->front().cost_ns, one.cost_ns);
  // Without probes the collectives alone show the clock offsets.
  EXPECT_THAT(codes(analysis.report), ::testing::Not(Contains("unaligned_clocks")));
  ASSERT_EQ(analysis.report.clock->hosts.size(), 2U);
  EXPECT_EQ(analysis.report.clock->hosts[0].bound_ns, 0);
  const HostClock& far = analysis.report.clock->hosts[1];
  EXPECT_EQ(far.method, "collectives");
  ASSERT_TRUE(far.bound_ns);
  EXPECT_LE(std::abs(far.offset_ns - 10 * kNsPerSecond), *far.bound_ns);
  EXPECT_EQ(analysis.report.clock->violations, 0);
  // The ranks' clocks are passed on: no bound within a host, the bound across hosts.
  const size_t last = analysis.ranks.size() - 1;
  const TraceNs at = analysis.ranks[0].steps.front().window.begin;
  EXPECT_EQ(analysis.clocks.bound_between(0, at, 1, at), 0);
  const auto bound = analysis.clocks.bound_between(0, at, last, at);
  ASSERT_TRUE(bound);
  EXPECT_GT(*bound, 0);
  EXPECT_LE(*bound, *far.bound_ns);
}

TEST(AnalysisTest, LossesAreSaid) {
  RunSpec spec = light(2, 20);
  spec.losses = {{.rank = 1, .count = 5000}};
  const auto [truth, analysis] = analysed(spec);
  ASSERT_EQ(analysis.report.recording.lost.size(), 1U);
  EXPECT_EQ(analysis.report.recording.lost[0].rank, 1);
  EXPECT_THAT(codes(analysis.report), Contains("events_lost"));
  const auto& findings = *analysis.report.findings;
  EXPECT_NE(std::ranges::find(findings, "hygiene.lost-records", &Finding::rule), findings.end());
}

TEST(AnalysisTest, ChosenStepsAreTheSteadyOnes) {
  const auto [truth, analysis] = analysed(light(2, 30), {.steps = {{5, 9}}, .ranks = {}});
  EXPECT_EQ(analysis.report.run.steps->first_steady, 5);
  EXPECT_EQ(analysis.report.run.steps->last_steady, 8);
  EXPECT_THAT(codes(analysis.report), Contains("few_steps"));
  const auto none = analysed(light(2, 10), {.steps = {{50, 60}}, .ranks = {}});
  EXPECT_THAT(codes(none.analysis.report), Contains("no_steps"));
}

TEST(AnalysisTest, ChosenRanksOnly) {
  const auto [truth, analysis] = analysed(light(3, 10), {.steps = {}, .ranks = {1}});
  EXPECT_EQ(analysis.report.run.ranks, 1);
  EXPECT_FALSE(analysis.report.stragglers);
  ASSERT_EQ(analysis.ranks.size(), 1U);
  EXPECT_EQ(analysis.ranks[0].rank, 1);
}

TEST(AnalysisTest, UnknownRankIsAnError) {
  const test_support::TemporaryFolder folder;
  ASSERT_TRUE(test_support::write_run(folder.path() / "run", light(2, 5)).ok());
  const auto run = open_run({folder.path() / "run"});
  const Result<Analysis> analysis = analyze(*run, {.steps = {}, .ranks = {7}});
  ASSERT_FALSE(analysis.ok());
  EXPECT_EQ(analysis.error().code, Code::kNotFound);
}

// It names whom the report names, while nothing has been replayed.
TEST(AnalysisTest, TheFirstLookComesBeforeTheReplay) {
  RunSpec spec = light(4, 30);
  spec.delays.push_back({.rank = 2, .phase = Phase::kForward, .ns = 20 * kMs});
  const test_support::TemporaryFolder folder;
  ASSERT_TRUE(test_support::write_run(folder.path() / "run", spec).ok());
  const auto run = open_run({folder.path() / "run"});
  ASSERT_TRUE(run.ok());
  std::vector<FirstLook> looks;
  std::vector<std::string> stages;  // that began after it
  AnalysisOptions options;
  options.first_look = [&](const FirstLook& look) { looks.push_back(look); };
  const Result<Analysis> analysis = analyze(*run, options, [&](std::string_view stage, double) {
    if (!looks.empty()) stages.emplace_back(stage);
    return true;
  });
  ASSERT_TRUE(analysis.ok());
  ASSERT_EQ(looks.size(), 1U);
  const FirstLook& look = looks.front();
  EXPECT_THAT(stages, Contains("replay"));
  EXPECT_EQ(look.ranks, 4);
  ASSERT_TRUE(look.steps && look.slow);
  EXPECT_EQ(look.steps->median_ns, analysis->report.run.steps->median_ns);
  ASSERT_EQ(look.slow->size(), 1U);
  ASSERT_TRUE(analysis->report.stragglers);
  ASSERT_EQ(analysis->report.stragglers->size(), 1U);
  const Straggler& named = analysis->report.stragglers->front();
  EXPECT_EQ(look.slow->front().rank, named.rank);
  EXPECT_EQ(look.slow->front().own_delay_ns, named.own_delay_ns);
}

TEST(AnalysisTest, TheFirstLookAtAHealthyRunNamesNobody) {
  std::optional<FirstLook> look;
  AnalysisOptions options;
  options.first_look = [&](const FirstLook& taken) { look = taken; };
  (void)analysed(light(4, 30), options);
  ASSERT_TRUE(look && look->slow);
  EXPECT_THAT(*look->slow, IsEmpty());
}

TEST(AnalysisTest, ProgressCanCancel) {
  const test_support::TemporaryFolder folder;
  ASSERT_TRUE(test_support::write_run(folder.path() / "run", light(2, 5)).ok());
  const auto run = open_run({folder.path() / "run"});
  double last = -1;
  const Result<Analysis> whole = analyze(*run, {}, [&](std::string_view, double share) {
    EXPECT_GE(share, last);
    last = share;
    return true;
  });
  EXPECT_TRUE(whole.ok());
  EXPECT_EQ(last, 1);
  const Result<Analysis> cancelled =
      analyze(*run, {}, [](std::string_view, double share) { return share < 0.8; });
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, Code::kUsage);
}

}  // namespace
}  // namespace dprof::analyzer
