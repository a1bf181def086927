// SPDX-License-Identifier: Apache-2.0
// The rows of real recordings, counted by a plain JSON parser:
//   dlrm_8gpu            facebookresearch/param 1e115ff, MIT: 8 ranks, integer microseconds
//   nanosecond_times, collective_metadata
//                        facebookresearch/HolisticTraceAnalysis f4d0062, MIT
//   mi300_ddp, h100_inference
//                        AMD-AGI/TraceLens 171dd74, MIT: HIP and RCCL; fractional microseconds
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/run/run.h"
#include "tests/real_traces/real_traces.h"

namespace dprof::real_traces {
namespace {

namespace fs = std::filesystem;
using schema::GpuActivityKind;
using schema::RangeCategory;

using Counts = std::map<std::pair<std::string, std::string>, int64_t>;

struct TraceCounts {
  std::map<RangeCategory, int64_t> ranges;
  std::map<GpuActivityKind, int64_t> activities;
  int64_t memory = 0;
  int64_t lost = 0;
  int64_t threads_named = 0;
};

TraceCounts count_rows(const schema::TraceReader& trace) {
  TraceCounts counts;
  for (const NamedRange& range : ranges_of(trace)) ++counts.ranges[range.row.category];
  for (const NamedActivity& row : activities_of(trace)) ++counts.activities[row.row.kind];
  counts.memory = *trace.count("memory_event");
  for (const schema::LossRow& loss : rows<schema::LossRow>(trace)) counts.lost += loss.count;
  for (const schema::ThreadRow& row : rows<schema::ThreadRow>(trace))
    counts.threads_named += row.name_id ? 1 : 0;
  return counts;
}

void compare_counts(const Counts& file, const schema::TraceReader& trace) {
  const auto events = [&](const char* category) {
    const auto known = file.find({"X", category});
    return known == file.end() ? int64_t{0} : known->second;
  };
  TraceCounts rows = count_rows(trace);
  EXPECT_EQ(rows.ranges[RangeCategory::kOp] + rows.ranges[RangeCategory::kAutograd],
            events("cpu_op"));
  EXPECT_EQ(rows.ranges[RangeCategory::kUser], events("user_annotation"));
  EXPECT_EQ(rows.ranges[RangeCategory::kApi], events("cuda_runtime") + events("cuda_driver"));
  EXPECT_EQ(rows.ranges[RangeCategory::kPython], events("python_function"));
  EXPECT_EQ(rows.ranges[RangeCategory::kOverhead], events("overhead"));
  EXPECT_EQ(rows.activities[GpuActivityKind::kKernel], events("kernel"));
  EXPECT_EQ(rows.activities[GpuActivityKind::kMemcpyH2d] +
                rows.activities[GpuActivityKind::kMemcpyD2h] +
                rows.activities[GpuActivityKind::kMemcpyD2d],
            events("gpu_memcpy"));
  EXPECT_EQ(rows.activities[GpuActivityKind::kMemset], events("gpu_memset"));
  EXPECT_EQ(rows.activities[GpuActivityKind::kSync], events("cuda_sync"));
  // Every event of the file is in a table, or counted in `loss`.
  int64_t all = 0;
  for (const auto& [what, count] : file) all += count;
  int64_t written = rows.memory;
  for (const auto& [category, count] : rows.ranges) written += count;
  for (const auto& [kind, count] : rows.activities) written += count;
  EXPECT_EQ(written + rows.threads_named + rows.lost, all);
}

struct FileCase {
  const char* name;
  const char* file;
  int64_t resolution_ns;
};

class RowCountsTest : public ::testing::TestWithParam<FileCase> {};

TEST_P(RowCountsTest, AreThoseOfTheFile) {
  const FileCase& c = GetParam();
  const Imported& imported = imported_once({c.file});
  DPROF_SKIP_IF_ABSENT(imported);
  EXPECT_FALSE(imported.summary().damaged);
  const schema::TraceReader trace = imported.trace(0);
  compare_counts(count_events(shared_traces() / c.file), trace);
  EXPECT_EQ(trace.meta_int("time_resolution_ns"), c.resolution_ns);
  EXPECT_EQ(trace.meta("imported_format"), "kineto");
}

INSTANTIATE_TEST_SUITE_P(
    Kineto, RowCountsTest,
    ::testing::Values(
        FileCase{"nanosecond_times",
                 "nanosecond_times/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", 1},
        FileCase{"collective_metadata", "collective_metadata/nccl_data.json.gz", 1},
        FileCase{"mi300_ddp", "mi300_ddp/resnet_act_checkpoint.json.gz", 1},
        FileCase{"h100_inference", "h100_inference/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", 1},
        FileCase{"cuda_sync", "critical_path/cuda_event_sync_multi_stream.json.gz", 1000}),
    [](const auto& test) { return std::string(test.param.name); });

// A double has steps of 256 ns at this time: the file's three decimals must be read as text.
TEST(NanosecondTimesTest, AreExact) {
  const Imported& imported = imported_once({"nanosecond_times"});
  DPROF_SKIP_IF_ABSENT(imported);
  const schema::TraceReader trace = imported.trace(0);
  const int64_t zero = trace.meta_int("origin_realtime_ns").value_or(0);
  const auto ranges = ranges_of(trace);
  const auto first = std::ranges::find(ranges, "autograd::engine::evaluate_function: DivBackward1",
                                       &NamedRange::name);
  ASSERT_NE(first, ranges.end());
  EXPECT_EQ(zero + first->row.start_ns, 1'712'195'495'519'689'047);
  EXPECT_EQ(first->row.duration_ns, 63'813);
}

TEST(DlrmTest, EightRanksAreFoundByContent) {
  const Imported& imported = imported_once({"dlrm_8gpu"});
  DPROF_SKIP_IF_ABSENT(imported);
  ASSERT_EQ(imported.summary().files.size(), 8U);
  const Result<analyzer::Run> run = analyzer::open_run({imported.run()});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->world_size, 8);
  ASSERT_EQ(run->traces.size(), 8U);
  for (int rank = 0; rank < 8; ++rank) {
    SCOPED_TRACE(rank);
    const schema::TraceReader trace = imported.trace(rank);
    EXPECT_EQ(trace.meta_int("rank"), rank);
    EXPECT_THAT(*trace.meta("imported_from"),
                ::testing::StartsWith(fmt::format("worker{}_", rank)));
    compare_counts(count_events(shared_traces() / "dlrm_8gpu" / *trace.meta("imported_from")),
                   trace);
    const auto collectives = rows<schema::CollectiveRow>(trace);
    EXPECT_EQ(collectives.size(), 8U) << "five all-to-alls, three all-reduces";
    for (const schema::CollectiveRow& row : collectives) {
      EXPECT_TRUE(row.enqueue_ns && row.start_ns && row.end_ns && row.bytes && row.correlation);
      EXPECT_NE(row.function, schema::Function::kUnknown);
    }
  }
}

}  // namespace
}  // namespace dprof::real_traces
