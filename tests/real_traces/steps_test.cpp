// SPDX-License-Identifier: Apache-2.0
// Steps of real recordings. The known answers are the host's ProfilerStep#N rows of the files:
//   mi300_ddp      AMD-AGI/TraceLens 171dd74, MIT: #15 to #17, one rank of eight
//   dlrm_8gpu      facebookresearch/param 1e115ff, MIT: one step of each of eight ranks
//   resnet50_1gpu  pytorch/kineto 041e7ce, BSD-3: six steps in each of four recordings
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/analysis.h"
#include "tests/real_traces/real_traces.h"

namespace dprof::real_traces {
namespace {

struct StepsCase {
  const char* name;
  const char* file;  // or a folder, below the shared traces
  int64_t count;
  int64_t first_ns;  // length of the first one, of the rank on which it is longest
  int64_t last_ns;
};

class RealStepsTest : public ::testing::TestWithParam<StepsCase> {};

TEST_P(RealStepsTest, AreThoseOfTheProfiler) {
  const StepsCase& c = GetParam();
  const Imported& imported = imported_once({c.file});
  DPROF_SKIP_IF_ABSENT(imported);
  const auto run = analyzer::open_run({imported.run()});
  ASSERT_TRUE(run.ok()) << run.error().what;
  const auto analysis = analyzer::analyze(*run);
  ASSERT_TRUE(analysis.ok()) << analysis.error().what;
  ASSERT_TRUE(analysis->report.run.steps);
  EXPECT_EQ(analysis->report.run.steps->count, c.count);
  EXPECT_EQ(analysis->report.run.steps->source, schema::StepSource::kMarker);
  for (const bool first : {true, false}) {
    int64_t longest = 0;
    for (const analyzer::RankAnalysis& rank : analysis->ranks) {
      ASSERT_EQ(rank.steps.size(), static_cast<size_t>(c.count));
      const analyzer::StepWindow& step = first ? rank.steps.front() : rank.steps.back();
      longest = std::max(longest, step.window.length().ns);
    }
    // Times are whole microseconds in some of the files, and rounded to them in sums.
    EXPECT_NEAR(static_cast<double>(longest), static_cast<double>(first ? c.first_ns : c.last_ns),
                1000);
  }
}

INSTANTIATE_TEST_SUITE_P(
    SharedTraces, RealStepsTest,
    ::testing::Values(
        StepsCase{"mi300_ddp", "mi300_ddp/resnet_act_checkpoint.json.gz", 3, 16'798'984,
                  15'887'029},
        StepsCase{"dlrm_8gpu", "dlrm_8gpu", 1, 19'901'000, 19'901'000},
        StepsCase{"resnet50_workers_0",
                  "resnet50_1gpu/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz", 6,
                  176'078'000, 164'261'000},
        StepsCase{"resnet50_workers_4",
                  "resnet50_1gpu/resnet50_num_workers_4/worker0.1623213129365.pt.trace.json.gz", 6,
                  160'076'000, 206'514'000}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace dprof::real_traces
