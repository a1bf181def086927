// SPDX-License-Identifier: Apache-2.0
// A production job's operation table: 8 GPUs (2 replicas of 4 stages), 32 steps, the last stage too
// long. ByteDance-Seed/StragglerAnalysis 8efcd7f, Apache-2.0. The known answers are that project's
// own result (result-ST.json, ms-ST.json, mw-ST.json): its simulation of the same operations.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "analyzer/analysis.h"
#include "tests/real_traces/real_traces.h"

namespace dprof::real_traces {
namespace {

using analyzer::PartSlowdown;
using Json = nlohmann::json;
using ::testing::ElementsAre;

// Its figures are of single precision.
constexpr double kTolerance = 0.0005;

Json answers(const std::string& name) {
  std::ifstream file(shared_traces() / "megatron_8rank" / name);
  return Json::parse(file);
}

// Imported and analysed once; over all steps, as the published figures are.
class MegatronTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    imported_ = new Imported({"megatron_8rank/timeline-ST.json.gz"});
    if (imported_->absent()) return;
    const auto run = analyzer::open_run({imported_->run()});
    ASSERT_TRUE(run.ok()) << run.error().what;
    auto analysis =
        analyzer::analyze(*run, {.steps = std::pair<int64_t, int64_t>(0, 1'000'000), .ranks = {}});
    ASSERT_TRUE(analysis.ok()) << analysis.error().what;
    analysis_ = new analyzer::Analysis(*std::move(analysis));
  }
  static void TearDownTestSuite() {
    delete analysis_;
    delete imported_;
  }
  void SetUp() override {
    DPROF_SKIP_IF_ABSENT(*imported_);
    ASSERT_NE(analysis_, nullptr);
  }

  static const analyzer::Report& report() { return analysis_->report; }
  static const analyzer::Slowdown& slowdown() { return *report().replay->slowdown; }

  static inline Imported* imported_ = nullptr;
  static inline analyzer::Analysis* analysis_ = nullptr;
};

TEST_F(MegatronTest, EveryRankIsATraceAndEveryOperationARow) {
  ASSERT_EQ(imported_->summary().files.size(), 1U);
  const analyzer::ImportedFile& file = imported_->summary().files.front();
  EXPECT_EQ(file.format, "operation_table");
  EXPECT_EQ(file.ranks.size(), 8U);
  EXPECT_FALSE(imported_->summary().damaged);
  const auto in_file = count_events(shared_traces() / "megatron_8rank" / "timeline-ST.json.gz");
  std::map<std::string, int64_t> ranges;
  int64_t all = 0;
  int64_t operations = 0;
  for (const auto& [kind, count] : in_file) operations += kind.first == "X" ? count : 0;
  for (int rank = 0; rank < 8; ++rank) {
    const schema::TraceReader trace = imported_->trace(rank);
    EXPECT_EQ(trace.meta("world_size"), "8");
    EXPECT_EQ(trace.meta("imported_format"), "operation_table");
    EXPECT_EQ(rows<schema::StepRow>(trace).size(), 32U);
    for (const NamedRange& range : ranges_of(trace)) ++ranges[range.name];
    all += *trace.count("host_range") + *trace.count("collective");
  }
  EXPECT_EQ(all, operations);
  EXPECT_EQ(ranges["stage_forward"], in_file.at({"X", "forward-compute"}));
  EXPECT_EQ(ranges["stage_backward"], in_file.at({"X", "backward-compute"}));
  EXPECT_EQ(ranges["optimizer"], in_file.at({"X", "optimizer"}));
}

TEST_F(MegatronTest, EveryMessageAndCollectiveIsMatched) {
  ASSERT_TRUE(report().point_to_point);
  int64_t messages = 0;
  for (const analyzer::PointToPoint& pair : *report().point_to_point) {
    messages += pair.n;
    EXPECT_EQ(pair.unmatched_sends, 0);
    EXPECT_EQ(pair.unmatched_receives, 0);
  }
  EXPECT_EQ(messages,
            32 * 2 * 3 * 4 * 2);  // steps, replicas, neighbours, micro-batches, directions
  EXPECT_FALSE(report().hang);
}

TEST_F(MegatronTest, ReplayIsTheRecordedRun) {
  ASSERT_TRUE(report().replay);
  EXPECT_EQ(report().replay->unit, "operations");
  EXPECT_EQ(report().replay->steps, 32);
  EXPECT_LE(report().replay->identity_error, 0.01);
  EXPECT_TRUE(report().replay->accepted);
  // Its simulation without launch delays takes that much less than the recorded steps.
  const double launch = answers("result-ST.json")["launch_slowdown"];
  EXPECT_NEAR(report().replay->unexplained, 1 - 1 / launch, 0.005);
}

TEST_F(MegatronTest, SlowdownIsThePublishedOne) {
  const Json published = answers("result-ST.json");
  EXPECT_NEAR(slowdown().slowdown, published["blocking_slowdown"].get<double>(), kTolerance);
  EXPECT_NEAR(static_cast<double>(slowdown().ideal_ns) / 1e9,
              published["step_t_noblk"]["23"].get<double>(), 0.01);
}

TEST_F(MegatronTest, StagesReplicasAndRanksAreThePublishedOnes) {
  const Json published = answers("result-ST.json");
  const Json& stages = published["blocking_decompose_by_stage"];
  const Json& replicas = published["blocking_decompose_by_dp_rank"];
  ASSERT_EQ(slowdown().stages.size(), 4U);
  ASSERT_EQ(slowdown().replicas.size(), 2U);
  ASSERT_EQ(slowdown().per_rank.size(), 8U);
  for (size_t p = 0; p < 4; ++p) {
    EXPECT_NEAR(slowdown().stages[p].slowdown, stages[std::to_string(p)].get<double>(), kTolerance)
        << slowdown().stages[p].part;
  }
  for (size_t r = 0; r < 2; ++r) {
    EXPECT_NEAR(slowdown().replicas[r].slowdown, replicas[std::to_string(r)].get<double>(),
                kTolerance)
        << slowdown().replicas[r].part;
  }
  for (size_t rank = 0; rank < 8; ++rank) {
    const double least = std::min(stages[std::to_string(rank / 2)].get<double>(),
                                  replicas[std::to_string(rank % 2)].get<double>());
    EXPECT_NEAR(slowdown().per_rank[rank].slowdown, least, kTolerance) << "rank " << rank;
  }
  EXPECT_NEAR(*slowdown().last_stage_share, answers("ms-ST.json")["rem"].get<double>(), 0.002);
  EXPECT_NEAR(*slowdown().worst_ranks_share, answers("mw-ST.json")["rem"].get<double>(), 0.002);
}

TEST_F(MegatronTest, OperationsAreThePublishedOnes) {
  const Json published = answers("result-ST.json")["blocking_decompose_by_optype"];
  const std::map<std::string, std::string> names = {
      {"forward", "forward-compute"},
      {"backward", "backward-compute"},
      {"optimizer", "optimizer"},
      {"all_reduce embedding", "embedding-grads-all-reduce"},
      {"reduce_scatter data parallel", "grads-reduce-scatter"},
      {"all_gather data parallel", "params-all-gather"},
      {"all_reduce world", "optimizer-clip-main-grad"}};
  size_t seen = 0;
  for (const PartSlowdown& one : slowdown().operations) {
    const auto known = names.find(one.part);
    if (known == names.end()) continue;
    ++seen;
    EXPECT_NEAR(one.slowdown, published[known->second].get<double>(), kTolerance) << one.part;
  }
  EXPECT_EQ(seen, names.size());
}

TEST_F(MegatronTest, TheLastStageIsNamed) {
  ASSERT_TRUE(report().stragglers);
  ASSERT_FALSE(report().stragglers->empty());
  const analyzer::Straggler& first = report().stragglers->front();
  EXPECT_EQ(first.cause, "stage_imbalance");
  EXPECT_EQ(first.role, "stage 4 of 4");
  EXPECT_THAT(first.host_ranks, ElementsAre(6, 7));
  EXPECT_EQ(first.shape, "persistent");
  EXPECT_GT(first.confidence, 0.9);
  // 1 - 1/S of the step.
  const Json published = answers("result-ST.json");
  const double lost = published["step_t_nodelay"]["1048"].get<double>() -
                      published["step_t_noblk"]["1048"].get<double>();
  EXPECT_NEAR(static_cast<double>(first.cost_ns) / 1e9, lost, 0.15 * lost);
  EXPECT_EQ(report().stragglers->size(), 1U) << "nobody else is to blame";
}

}  // namespace
}  // namespace dprof::real_traces
