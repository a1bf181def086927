// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "analyzer/import/format.h"
#include "analyzer/import/import.h"
#include "analyzer/import/operation_table/layout.h"
#include "schema/trace_reader.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer::operation_table {
namespace {

namespace fs = std::filesystem;
using schema::Function;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two replicas of two stages; threads are numbered as in the published tables.
class OperationTableTest : public ::testing::Test {
 protected:
  static int thread_of(int data, int stage) { return (stage * 2 + data) * 5; }

  void row(int data, int stage, const std::string& name, double ts, double dur, int step = 7) {
    const bool computes = name.ends_with("compute") || name == "optimizer";
    rows_.push_back(
        fmt::format(R"({{"name":"{0}","cat":"{0}","ph":"X","pid":{1},"tid":{2},"ts":{3},"dur":{4},)"
                    R"("args":{{"step":{5},"model_chunk":0,"mb_id":0,"seq_id":0}}}})",
                    name, data, thread_of(data, stage) + (computes ? 0 : 1), ts, dur, step));
  }

  void names() {
    for (int data = 0; data < 2; ++data) {
      for (int stage = 0; stage < 2; ++stage) {
        for (int lane = 0; lane < 2; ++lane) {
          rows_.push_back(fmt::format(R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},)"
                                      R"("args":{{"name":"PP rank {}, TP rank 0, {}"}}}})",
                                      data, thread_of(data, stage) + lane, stage,
                                      lane == 0 ? "compute" : "pp-comm"));
        }
      }
    }
  }

  Result<ImportSummary> import(std::string_view end = "]") {
    std::string text = "[";
    for (size_t i = 0; i < rows_.size(); ++i) text += (i == 0 ? "" : ",\n") + rows_[i];
    text += end;
    std::ofstream(folder_.path() / "table.json") << text;
    return import_files({folder_.path() / "table.json"}, run(), {.overwrite = true});
  }

  [[nodiscard]] fs::path run() const { return folder_.path() / "run"; }
  [[nodiscard]] schema::TraceReader trace(int rank) const {
    auto reader = schema::TraceReader::open(run() / fmt::format("rank-{:05}.dprof", rank));
    DPROF_CHECK(reader.ok());
    return *std::move(reader);
  }

  std::vector<std::string> rows_;
  test_support::TemporaryFolder folder_;
};

TEST_F(OperationTableTest, EachRankIsATraceWithStepsPhasesAndMessages) {
  for (int data = 0; data < 2; ++data) {
    row(data, 0, "forward-compute", 10, 5);
    row(data, 0, "forward-send", 15, 1.25);
    row(data, 1, "forward-recv", 15, 1.5);
    row(data, 1, "forward-compute", 17, 5);
    row(data, 1, "grads-reduce-scatter", 30, 2);
    row(data, 0, "optimizer", 40, 3);
  }
  names();
  const auto summary = import();
  ASSERT_TRUE(summary.ok()) << summary.error().what;
  EXPECT_EQ(summary->files[0].format, "operation_table");
  EXPECT_THAT(summary->files[0].ranks, ElementsAre(0, 1, 2, 3));

  const schema::TraceReader first = trace(0);
  EXPECT_EQ(first.meta("world_size"), "4");
  const auto steps = first.read_all<schema::StepRow>();
  ASSERT_TRUE(steps.ok());
  ASSERT_EQ(steps->size(), 1U);
  EXPECT_EQ((*steps)[0].step_index, 0);  // the table says 7: its steps are numbered consecutively
  EXPECT_EQ(*(*steps)[0].end_ns - (*steps)[0].start_ns, 33'000);
  const auto ranges = first.read_all<schema::HostRangeRow>();
  ASSERT_TRUE(ranges.ok());
  ASSERT_EQ(ranges->size(), 2U);
  EXPECT_EQ(first.string((*ranges)[0].name_id), "stage_forward");
  EXPECT_EQ(first.string((*ranges)[1].name_id), "optimizer");

  const auto sent = first.read_all<schema::CollectiveRow>();
  ASSERT_TRUE(sent.ok());
  ASSERT_EQ(sent->size(), 1U);
  EXPECT_EQ((*sent)[0].function, Function::kSend);
  EXPECT_EQ((*sent)[0].peer, 1);  // the next stage, by its number in the pipeline
  EXPECT_EQ(*(*sent)[0].end_ns - *(*sent)[0].start_ns, 1'250);
  // Rank 3 is the last stage of the second replica.
  const auto groups = trace(3).read_all<schema::CommunicatorRow>();
  ASSERT_TRUE(groups.ok());
  EXPECT_EQ(groups->size(), 2U);
  const auto members = trace(3).read_all<schema::CommunicatorMemberRow>();
  ASSERT_TRUE(members.ok());
  std::map<int64_t, std::vector<int64_t>> ranks;
  for (const auto& member : *members) ranks[member.communicator_id].push_back(member.rank);
  for (const auto& group : *groups) {
    EXPECT_THAT(ranks[group.id], trace(3).string(*group.name_id) == "pipeline" ? ElementsAre(1, 3)
                                                                               : ElementsAre(2, 3));
  }
}

TEST_F(OperationTableTest, WhatCannotBeUsedIsCounted) {
  row(0, 0, "forward-compute", 10, 5);
  row(0, 0, "forward-compute", 10, -5);
  row(0, 0, "moon-phase", 10, 5);
  row(0, 1, "forward-send", 10, 5);  // the last stage has no receiver
  rows_.push_back(
      R"({"name":"forward-compute","ph":"X","pid":0,"tid":99,"ts":1,"dur":1,"args":{"step":1,"seq_id":0}})");
  rows_.push_back(
      R"({"name":"forward-compute","ph":"X","pid":0,"tid":0,"ts":1,"dur":1,"args":{"seq_id":0}})");
  rows_.push_back("17");
  names();
  const auto summary = import();
  ASSERT_TRUE(summary.ok()) << summary.error().what;
  EXPECT_FALSE(summary->damaged);
  EXPECT_EQ(summary->files[0].rows, 2);  // a range and its step
  EXPECT_EQ(summary->files[0].skipped, 6 + 8);
  std::string said;
  for (const Diagnostic& one : summary->diagnostics) said += one.text + "\n";
  EXPECT_THAT(said, HasSubstr("operations of unknown kind"));
  EXPECT_THAT(said, HasSubstr("do not name a rank"));
  EXPECT_THAT(said, HasSubstr("without a step"));
}

TEST_F(OperationTableTest, ATableThatNamesNoThreadsIsRefused) {
  row(0, 0, "forward-compute", 10, 5);
  const auto summary = import();
  ASSERT_FALSE(summary.ok());
  EXPECT_THAT(summary.error().what, HasSubstr("no thread is named by its stage"));
}

TEST_F(OperationTableTest, ACutTableGivesWhatCameBefore) {
  names();
  row(0, 0, "forward-compute", 10, 5);
  row(1, 0, "forward-compute", 10, 5);
  const auto summary = import(",\n{\"name\":\"forw");
  ASSERT_TRUE(summary.ok()) << summary.error().what;
  EXPECT_TRUE(summary->damaged);
  EXPECT_EQ(summary->files[0].rows, 4);
}

TEST(ThreadNameTest, SaysStageAndTensorRank) {
  const auto name = thread_name_of("PP rank 3, TP rank 12, pp-comm");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->stage, 3);
  EXPECT_EQ(name->tensor, 12);
  for (const char* other : {"", "PP rank", "PP rank x, TP rank 0", "PP rank 3, DP rank 1",
                            "PP rank 99999999999999999999, TP rank 0", "main"})
    EXPECT_FALSE(thread_name_of(other)) << other;
}

}  // namespace
}  // namespace dprof::analyzer::operation_table
