// SPDX-License-Identifier: Apache-2.0
// What recordings say about their collectives is in the table: collective_metadata
// (facebookresearch/HolisticTraceAnalysis f4d0062, MIT: NCCL, rank 0 of 2) and mi300_ddp
// (AMD-AGI/TraceLens 171dd74, MIT: RCCL, rank 0 of 8). The numbers were read from the files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/real_traces/real_traces.h"

namespace dprof::real_traces {
namespace {

using schema::CollectiveRow;
using schema::CollectiveState;
using schema::DataType;
using schema::Function;

std::vector<CollectiveRow> collectives_of(const schema::TraceReader& trace) {
  return rows<CollectiveRow>(trace);
}

TEST(CollectiveMetadataTest, KernelsCarryTheirGroupAndSize) {
  const Imported& imported = imported_once({"collective_metadata/nccl_data.json.gz"});
  DPROF_SKIP_IF_ABSENT(imported);
  const schema::TraceReader trace = imported.trace(0);
  std::map<Function, int64_t> count;
  std::map<int64_t, int64_t> elements;  // of the all-reduces
  for (const CollectiveRow& row : collectives_of(trace)) {
    ++count[row.function];
    EXPECT_EQ(row.state, CollectiveState::kComplete);
    ASSERT_TRUE(row.count && row.bytes && row.enqueue_ns && row.start_ns && row.stream_id);
    EXPECT_LE(*row.enqueue_ns, *row.start_ns);
    if (row.function != Function::kAllReduce) continue;
    ++elements[*row.count];
    EXPECT_EQ(row.dtype, DataType::kFloat32);
    EXPECT_EQ(row.bytes, 4 * *row.count);
    EXPECT_EQ(row.reduction, schema::Reduction::kSum);
  }
  EXPECT_EQ(count[Function::kAllReduce], 15);
  EXPECT_EQ(count[Function::kBroadcast], 6);
  EXPECT_EQ(elements.size(), 5U) << "five buckets";
  for (const auto& [size, times] : elements) EXPECT_EQ(times, 3) << size;
  const auto communicators = rows<schema::CommunicatorRow>(trace);
  ASSERT_EQ(communicators.size(), 1U);
  EXPECT_EQ(communicators[0].size, 2);
  EXPECT_EQ(communicators[0].own_rank, 0);
  EXPECT_EQ(communicators[0].backend, schema::Backend::kNccl);
  EXPECT_EQ(trace.string(communicators[0].name_id.value_or(0)), "0");
  const auto members = rows<schema::CommunicatorMemberRow>(trace);
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[1].rank, 1);
}

TEST(CollectiveMetadataTest, RcclIsReadLikeNccl) {
  const Imported& imported = imported_once({"mi300_ddp/resnet_act_checkpoint.json.gz"});
  DPROF_SKIP_IF_ABSENT(imported);
  const schema::TraceReader trace = imported.trace(0);
  std::map<Function, int64_t> count;
  std::map<std::pair<Function, int64_t>, int64_t> by_size;
  for (const CollectiveRow& row : collectives_of(trace)) {
    ++count[row.function];
    if (row.bytes) ++by_size[{row.function, *row.bytes}];
  }
  EXPECT_EQ(count[Function::kAllReduce], 6) << "coll_analysis.csv";
  EXPECT_EQ(count[Function::kBroadcast], 6);
  EXPECT_EQ((by_size[{Function::kAllReduce, 2 * 8'816'192}]), 3);
  EXPECT_EQ((by_size[{Function::kAllReduce, 2 * 2'873'320}]), 3);
  EXPECT_EQ(trace.meta_int("world_size"), 8);
  EXPECT_EQ(trace.meta("nccl_version"), "2.22.3");
}

}  // namespace
}  // namespace dprof::real_traces
