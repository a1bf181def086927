// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/marks_check.h"

#include <gtest/gtest.h>

#include "analyzer/match/test_support/test_run.h"
#include "analyzer/waits/test_support/matched.h"

namespace dprof::analyzer {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSteps = 10;
constexpr int kWorker = 0;
constexpr int kServer = 1;

// A worker pushes its gradients in each step, which takes 10 ms. The server's step n receives the
// gradients of the worker's step n, and answers in time for the same step, or for the next one.
struct ServedRun {
  explicit ServedRun(bool in_same_step) : run(2) {
    const size_t group = run.group({kWorker, kServer});
    const int64_t answer = in_same_step ? 9 * kMs + kMs / 2 : 11 * kMs;
    for (int64_t n = 0; n < kSteps; ++n) {
      const int64_t begin = n * 10 * kMs;
      mark(kWorker, n, begin, begin + 10 * kMs);
      mark(kServer, n, begin + 8 * kMs, begin + 12 * kMs);
      for (const int rank : {kWorker, kServer}) {
        call(rank, group, rank == kWorker, begin + 9 * kMs);
        call(rank, group, rank == kServer, begin + answer);
      }
    }
  }

  void mark(int rank, int64_t index, int64_t begin, int64_t end) {
    RankDigest& digest = run.digests[static_cast<size_t>(rank)];
    digest.steps.push_back({index, {{begin}, {end}}});
    digest.step_source = schema::StepSource::kMarker;
  }

  void call(int rank, size_t group, bool sends, int64_t at) {
    CollectiveRecords::Edited record = run.message(rank, group, sends, rank == kWorker ? 1 : 0);
    record.enqueue = record.start = TraceNs{at};
    record.end = TraceNs{at + kMs};
  }

  std::vector<Diagnostic> check() {
    const Matching matching = matched(run.digests, true);
    std::vector<Diagnostic> diagnostics;
    check_marks(run.digests, matching, diagnostics);
    return diagnostics;
  }

  std::vector<int64_t> indices(int rank) const {
    std::vector<int64_t> indices;
    for (const StepRecord& step : run.digests[static_cast<size_t>(rank)].steps)
      indices.push_back(step.index);
    return indices;
  }

  TestRun run;
};

TEST(MarksCheckTest, MessagesThatAreReceivedInTheNextStepDisagreeWithNothing) {
  ServedRun served(false);
  const std::vector<Diagnostic> said = served.check();
  EXPECT_TRUE(said.empty()) << said.front().text;
  EXPECT_EQ(served.indices(kServer), served.indices(kWorker));
}

TEST(MarksCheckTest, MessagesTellThatARankCountsFromAnotherNumber) {
  ServedRun served(true);
  for (StepRecord& step : served.run.digests[kServer].steps) step.index += 4;
  const std::vector<Diagnostic> said = served.check();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].code, "steps_renumbered");
  EXPECT_EQ(served.indices(kServer), served.indices(kWorker));
}

}  // namespace
}  // namespace dprof::analyzer
