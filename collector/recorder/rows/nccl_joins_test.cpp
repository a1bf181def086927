// SPDX-License-Identifier: Apache-2.0
// The plugin, LibTorch and NVTX see the same collective.
#include <gmock/gmock.h>

#include "collector/recorder/rows/nccl_rows.h"
#include "collector/recorder/test_support/nccl_fixture.h"

namespace dprof::recorder {
namespace {

using schema::CollectiveState;
using schema::Function;
using schema::Reduction;
using ::testing::SizeIs;
using wire::Kind;

TEST_F(NcclRowsTest, LibTorchsCallAndThePluginsAreOneRow) {
  group();
  torch(90, Function::kAllReduce, 3);
  communicator(95);  // made by the first call
  call(100, 1, Function::kAllReduce, 2048);
  collective(120, 3, 1, Function::kAllReduce, 17);
  launch_ = 501;
  torch(190, Function::kBarrier);
  call(200, 4, Function::kAllReduce, 1);
  collective(220, 5, 4, Function::kAllReduce, 18);
  torch(290, Function::kAllReduce);  // not seen by the plugin
  const auto all = result();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].source, schema::Source::kNccl);
  EXPECT_EQ(all[0].reduction, Reduction::kSum);
  EXPECT_EQ(all[0].bucket, 2);
  EXPECT_EQ(all[0].ready_ns, 80);
  EXPECT_EQ(all[0].sequence, 17);
  EXPECT_EQ(all[0].bytes, 8192) << "NCCL's own";
  EXPECT_EQ(all[0].enqueue_ns, 100);
  EXPECT_EQ(all[1].function, Function::kBarrier);
  EXPECT_EQ(all[1].sequence, 0) << "not that of the all_reduce that carries it";
  EXPECT_EQ(all[1].algorithm, "RING");
  EXPECT_EQ(all[2].source, schema::Source::kTorch);
  EXPECT_EQ(all[2].state, CollectiveState::kUnobserved);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all[static_cast<size_t>(i)].group_sequence, i);
    EXPECT_EQ(all[static_cast<size_t>(i)].communicator_id, all[0].communicator_id);
  }
  ASSERT_THAT(communicators(), SizeIs(1)) << "group and communicator are one";
  EXPECT_EQ(communicators()[0].hash, static_cast<int64_t>(kHash));
  EXPECT_EQ(trace_->string(communicators()[0].name_id.value_or(0)), "default_pg");
}

TEST_F(NcclRowsTest, AGroupsSecondCommunicatorIsARowOfItsOwn) {
  group();
  communicator(50);
  torch(90, Function::kAllReduce);
  call(100, 1, Function::kAllReduce);
  communicator(150, 8, kHash, 1);  // created again
  torch(190, Function::kAllReduce);
  call(200, 2, Function::kAllReduce);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(2));
  ASSERT_THAT(communicators(), SizeIs(2));
  EXPECT_EQ(communicators()[1].ordinal, 1);
  EXPECT_EQ(communicators()[1].name_id, communicators()[0].name_id);
  EXPECT_EQ(all[1].communicator_id, communicators()[1].id);
  EXPECT_EQ(all[1].group_sequence, 0);
}

TEST_F(NcclRowsTest, ACoalescedCallIsSeveralRowsAndABuiltOneIsOne) {
  group();
  communicator(10);
  torch(90, Function::kAllReduce);
  call(100, 1, Function::kAllReduce);
  call(101, 2, Function::kAllReduce);
  launch_ = 501;
  torch(190, Function::kAllToAll);
  for (uint64_t i = 0; i < 8; ++i) {
    call(200 + i, 10 + i, i % 2 == 0 ? Function::kSend : Function::kRecv);
    message(220 + i, 20 + i, 10 + i, i % 2 == 0 ? Function::kSend : Function::kRecv, 1, i);
  }
  launch(230, 50);
  kernel(50, 9, 1000, 2000);
  launch_ = 502;
  call(300, 30, Function::kSend);  // not the doing of the all_to_all
  const auto all = result();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[1].reduction, Reduction::kSum) << "of the same call";
  EXPECT_EQ(all[2].function, Function::kAllToAll);
  EXPECT_EQ(all[2].bytes, 4096) << "LibTorch's figure: the messages are parts";
  EXPECT_EQ(all[2].sequence, 0);
  EXPECT_EQ(all[2].end_ns, 2000);
  EXPECT_EQ(all[3].function, Function::kSend);
  EXPECT_EQ(all[3].reduction, Reduction::kNone);
}

TEST_F(NcclRowsTest, WithoutPluginAndTorchNcclsOwnRangesMakeRows) {
  nvtx_schemas();
  const struct {
    uint64_t hash;
    int32_t ranks, rank, device, padding;
  } init{kHash, 4, 3, 0, 0};
  wire::Record begin =
      range_begin(process_.text("ncclCommInitRank"), 20, wire::range_category::kNvtx);
  begin.range_begin.domain = domain_;
  main_.push(begin);
  wire::Record end = range_end(40, wire::range_category::kNvtx);
  end.range_end.domain = domain_;
  end.range_end.payload_kind = 7;
  end.range_end.payload = sizeof init;
  end.range_end.schema_id = kSid;
  main_.push(end, &init, sizeof init);
  nvtx(100, "ncclAllReduce", kSid + 5, 4096, 4);
  nvtx(200, "ncclSend", kSid + 9, 64, 2);
  nvtx(300, "ncclAllReduce", kSid + 5, 8192, 0);
  nvtx(400, "ncclGetVersion", kSid + 5, 0, 0);  // no collective
  const auto all = result();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].source, schema::Source::kNvtx);
  EXPECT_EQ(all[0].function, Function::kAllReduce);
  EXPECT_EQ(all[0].reduction, Reduction::kAvg);
  EXPECT_EQ(all[0].bytes, 4096);
  EXPECT_EQ(all[0].enqueue_ns, 100);
  EXPECT_EQ(all[0].state, CollectiveState::kUnobserved);
  EXPECT_EQ(all[0].sequence, 0);
  EXPECT_EQ(all[1].peer, 2);
  EXPECT_EQ(all[1].sequence, 0);
  EXPECT_EQ(all[2].sequence, 1);
  EXPECT_EQ(all[2].group_sequence, 2);
  ASSERT_THAT(communicators(), SizeIs(1));
  EXPECT_EQ(communicators()[0].size, 4);
  EXPECT_EQ(communicators()[0].own_rank, 3);
}

TEST_F(NcclRowsTest, NvtxGivesThePluginTheReductionAndMakesNoSecondRow) {
  nvtx_schemas();
  communicator(10);
  nvtx(100, "ncclAllReduce", kSid + 5, 4096, 2);
  call(102, 1, Function::kAllReduce);
  call(300, 2, Function::kAllReduce);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].reduction, Reduction::kMax);
  EXPECT_EQ(all[0].source, schema::Source::kNccl);
  EXPECT_EQ(all[1].reduction, Reduction::kNone) << "not guessed";
}

TEST_F(NcclRowsTest, NvtxMakesNoSecondRowOfLibTorchsCall) {
  nvtx_schemas();
  group();
  torch(90, Function::kAllReduce);  // 4096 bytes
  nvtx(100, "ncclAllReduce", kSid + 5, 1024, 0);
  nvtx(110, "ncclAllReduce", kSid + 5, 3072, 0);  // coalesced
  nvtx(120, "ncclAllReduce", kSid + 5, 4096, 0);  // another call's
  torch(190, Function::kAllToAll);
  for (uint64_t i = 0; i < 4; ++i) nvtx(200 + 10 * i, "ncclSend", kSid + 9, 1024, i);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].source, schema::Source::kTorch);
  EXPECT_EQ(all[0].sequence, 0);
  EXPECT_EQ(all[1].source, schema::Source::kNvtx);
  EXPECT_EQ(all[2].function, Function::kAllToAll);
  ASSERT_THAT(communicators(), SizeIs(1));
  EXPECT_EQ(communicators()[0].hash, static_cast<int64_t>(kHash)) << "equal on all ranks";
}

TEST_F(NcclRowsTest, AGroupOfOneRankIsNeverThePluginsCall) {
  nvtx_schemas();
  group(1);
  communicator(10, 1);
  communicator(11, 8, kHash + 1);
  torch(90, Function::kAllReduce);
  wire::NcclCall other = call_of(1, Function::kAllReduce);
  other.hash = kHash + 1;
  main_.push(record_of(Kind::kNcclCall, 0, 200, other));
  const auto all = result();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].source, schema::Source::kTorch);
  EXPECT_EQ(all[1].source, schema::Source::kNccl);
}

}  // namespace
}  // namespace dprof::recorder
