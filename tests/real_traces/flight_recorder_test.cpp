// SPDX-License-Identifier: Apache-2.0
// Flight-recorder dumps of a 16-rank job, one per rank (NVIDIA/nvidia-resiliency-ext d8686d9,
// Apache-2.0). The known answers lie beside them: fault_injection.log says that the GPUs of ranks
// 12 and 14 were made to fail; gpu_error_1st_reference.txt says that rank 12 is missing in an
// all-to-all of the expert-parallel group 74 (12-15), by the entry of rank 13: 4027 x 5120
// elements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analysis.h"
#include "analyzer/run/run.h"
#include "tests/real_traces/real_traces.h"

namespace dprof::real_traces {
namespace {

using schema::CollectiveRow;
using schema::Function;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FlightRecorderTraceTest, EveryEntryIsARow) {
  const Imported& imported = imported_once({"flight_recorder_16rank/gpu_error_1st"});
  DPROF_SKIP_IF_ABSENT(imported);
  ASSERT_EQ(imported.summary().files.size(), 16U);
  int64_t rows = 0;
  for (const analyzer::ImportedFile& file : imported.summary().files) {
    EXPECT_EQ(file.format, "flight_recorder");
    EXPECT_EQ(file.skipped, 0);
    rows += file.rows;
  }
  EXPECT_EQ(rows, 289) << "as the files' lists `entries` have";
  // Rank 13's second group of calls, as in its file.
  const schema::TraceReader trace = imported.trace(13);
  const auto found = *trace.read_all<CollectiveRow>();
  EXPECT_EQ(found.size(), 16U);
  const auto one = std::ranges::find_if(found, [](const CollectiveRow& row) {
    return row.group_sequence == 20537 && row.function == Function::kAllToAll;
  });
  ASSERT_NE(one, found.end());
  EXPECT_EQ(one->count, 4027 * 5120);
  EXPECT_EQ(one->bytes, 2 * 4027 * 5120);
  EXPECT_EQ(one->state, schema::CollectiveState::kEnqueued);
  EXPECT_FALSE(one->start_ns);
}

TEST(FlightRecorderTraceTest, TheFailedGpusAreTheCulpritsAndOneIsMissing) {
  const Imported& imported = imported_once({"flight_recorder_16rank/gpu_error_1st"});
  DPROF_SKIP_IF_ABSENT(imported);
  const Result<analyzer::Run> run = analyzer::open_run({imported.run()});
  ASSERT_TRUE(run.ok()) << run.error().what;
  const Result<analyzer::Analysis> analysis = analyzer::analyze(*run);
  ASSERT_TRUE(analysis.ok()) << analysis.error().what;
  ASSERT_TRUE(analysis->report.hang);
  const analyzer::Hang& hang = *analysis->report.hang;
  EXPECT_EQ(hang.state, "waiting");
  EXPECT_THAT(hang.culprits, ElementsAre(12, 14)) << hang.reason;
  // Where the reference tool sees the missing rank.
  EXPECT_EQ(hang.function, Function::kAllToAll);
  EXPECT_EQ(hang.sequence, 20537);
  EXPECT_THAT(hang.communicator, HasSubstr("EXPERT_MODEL_PARALLEL_GROUP"));
  EXPECT_THAT(hang.communicator, HasSubstr("74"));
  ASSERT_EQ(hang.ranks.size(), 16U);
  EXPECT_EQ(hang.ranks[0].rank, 12);
  EXPECT_EQ(hang.ranks[0].state, "not_called");
  EXPECT_EQ(hang.ranks[1].rank, 14);
  EXPECT_NE(hang.ranks[1].state, "not_called") << "it has called up to 20538";
  EXPECT_THAT(hang.reason, HasSubstr("rank 12, which never called it"));
  EXPECT_EQ(hang.waiting.size(), 14U);
}

}  // namespace
}  // namespace dprof::real_traces
