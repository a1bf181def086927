// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/marked_phases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dprof::analyzer {
namespace {

// Four steps of 100 ns, of which the last two are steady.
struct Fixture {
  std::vector<RankDigest> digests;
  Steps steps;

  explicit Fixture(int ranks) {
    for (int64_t s = 0; s < 4; ++s) steps.steps.push_back({.index = s, .windows = {}});
    steps.first_steady = 2;
    steps.last_steady = 3;
    for (int r = 0; r < ranks; ++r) {
      RankDigest digest;
      digest.rank = r;
      steps.ranks.push_back(digests.size());
      for (int64_t s = 0; s < 4; ++s) {
        const Interval window{{s * 100}, {s * 100 + 100}};
        digest.steps.push_back({s, window});
        steps.steps[static_cast<size_t>(s)].windows.push_back(window);
      }
      digests.push_back(std::move(digest));
    }
  }
};

TEST(MarkedPhasesTest, AreMeansOverTheSteadySteps) {
  Fixture run(2);
  run.digests[0].marked = {{"serve", {{0, 9, 900}, {2, 3, 60}, {3, 2, 30}}}};
  run.digests[1].marked = {{"push", {{3, 1, 50}}}, {"warm_up", {{0, 1, 50}}}};
  std::vector<Diagnostic> diagnostics;
  const std::vector<PhaseSummary> phases = phases_of(run.digests, run.steps, diagnostics);
  ASSERT_EQ(phases.size(), 2U) << "what is in no steady step is no phase";
  EXPECT_EQ(phases[0].name, "serve");
  ASSERT_EQ(phases[0].per_rank.size(), 1U);
  EXPECT_EQ(phases[0].per_rank[0].rank, 0);
  EXPECT_EQ(phases[0].per_rank[0].per_step, 2.5);
  EXPECT_EQ(phases[0].per_rank[0].mean_ns, 45);
  EXPECT_EQ(phases[1].name, "push");
  EXPECT_EQ(phases[1].per_rank[0].per_step, 0.5);
  EXPECT_TRUE(diagnostics.empty());
}

TEST(MarkedPhasesTest, FurtherNamesAreCountedAndSaid) {
  Fixture run(2);
  for (size_t i = 0; i < kMostPhaseNames; ++i)
    run.digests[0].marked.push_back({fmt::format("phase {}", i), {{2, 1, 1}}});
  run.digests[0].marks_left_out = 5;
  run.digests[1].marked = {{"phase 0", {{2, 1, 1}}}, {"another", {{2, 3, 1}}}};
  std::vector<Diagnostic> diagnostics;
  const std::vector<PhaseSummary> phases = phases_of(run.digests, run.steps, diagnostics);
  EXPECT_EQ(phases.size(), kMostPhaseNames);
  EXPECT_EQ(phases[0].per_rank.size(), 2U);
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].code, "phases_left_out");
  EXPECT_EQ(diagnostics[0].count, 8);
}

}  // namespace
}  // namespace dprof::analyzer
