// SPDX-License-Identifier: Apache-2.0
// The plugin's records alone.
#include "collector/recorder/rows/nccl_rows.h"

#include <gmock/gmock.h>

#include "collector/recorder/test_support/nccl_fixture.h"

namespace dprof::recorder {
namespace {

using schema::CollectiveRow;
using schema::CollectiveState;
using schema::DataType;
using schema::Function;
using ::testing::SizeIs;
using wire::Kind;

TEST_F(NcclRowsTest, ACallItsEnqueueAndItsKernelAreOneRow) {
  communicator(10);
  call(100, 1, Function::kAllReduce);
  launch(110, 2);
  collective(120, 3, 1, Function::kAllReduce, 17);
  kernel(2, 77, 5000, 9000);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(1));
  const CollectiveRow& row = all[0];
  EXPECT_EQ(row.function, Function::kAllReduce);
  EXPECT_EQ(row.sequence, 17);
  EXPECT_EQ(row.group_sequence, 0);
  EXPECT_EQ(row.enqueue_ns, 100);
  EXPECT_EQ(row.start_ns, 5000);
  EXPECT_EQ(row.end_ns, 9000);
  EXPECT_EQ(row.state, CollectiveState::kComplete);
  EXPECT_EQ(row.count, 1024);
  EXPECT_EQ(row.bytes, 4096);
  EXPECT_EQ(row.dtype, DataType::kFloat32);
  EXPECT_EQ(row.algorithm, "RING");
  EXPECT_EQ(row.protocol, "LL128");
  EXPECT_EQ(row.channels, 24);
  EXPECT_EQ(row.correlation, 77);
  EXPECT_EQ(row.captured, 0);
  EXPECT_EQ(row.source, schema::Source::kNccl);
  EXPECT_EQ(row.root, std::nullopt);
  const auto streams = rows<schema::StreamRow>(*trace_);
  ASSERT_THAT(streams, SizeIs(1));
  EXPECT_EQ(row.stream_id, streams[0].id);
  ASSERT_THAT(communicators(), SizeIs(1));
  EXPECT_EQ(communicators()[0].hash, static_cast<int64_t>(kHash));
  EXPECT_EQ(communicators()[0].backend, schema::Backend::kNccl);
  EXPECT_EQ(communicators()[0].size, 8);
  EXPECT_EQ(communicators()[0].own_rank, 0);
  EXPECT_EQ(row.communicator_id, communicators()[0].id);
}

TEST_F(NcclRowsTest, TheKernelMayComeLongAfterTheRowWasWritten) {
  communicator(10);
  call(100, 1, Function::kAllReduce);
  launch(110, 2);
  drain_.pass();
  drain_.flush();
  collective(120, 3, 1, Function::kAllReduce, 17);
  drain_.pass();
  drain_.flush();
  kernel(2, 77, 5000, 9000, true);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].sequence, 17);
  EXPECT_EQ(all[0].algorithm, "RING");
  EXPECT_EQ(all[0].end_ns, 9000);
  EXPECT_EQ(all[0].correlation, 77);
}

TEST_F(NcclRowsTest, CallsOfOneGroupShareItsKernel) {
  communicator(10);
  call(100, 1, Function::kAllReduce);
  call(105, 2, Function::kAllGather);
  launch(110, 3);
  collective(120, 4, 1, Function::kAllReduce, 0);
  collective(121, 5, 2, Function::kAllGather, 0);
  launch_ = 501;
  call(200, 6, Function::kAllReduce);
  kernel(3, 77, 5000, 9000);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].start_ns, 5000);
  EXPECT_EQ(all[1].start_ns, 5000);
  EXPECT_EQ(all[1].function, Function::kAllGather);
  EXPECT_EQ(all[2].start_ns, std::nullopt);
  EXPECT_EQ(all[2].state, CollectiveState::kUnobserved);
  EXPECT_EQ(all[2].group_sequence, 2);
}

TEST_F(NcclRowsTest, BytesAreThoseOfThisRanksInput) {
  communicator(10);
  call(100, 1, Function::kAllGather);
  call(200, 2, Function::kReduceScatter);
  call(300, 3, Function::kAllToAll);
  call(400, 4, Function::kBroadcast);
  call(500, 5, Function::kReduceScatter, INT64_MAX);
  call(600, 6, Function::kReduceScatter, -1);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(6));
  EXPECT_EQ(all[0].bytes, 4096);
  EXPECT_EQ(all[1].bytes, 8 * 4096);
  EXPECT_EQ(all[1].count, 8 * 1024);
  EXPECT_EQ(all[2].bytes, 8 * 4096);
  EXPECT_EQ(all[3].bytes, 4096);
  EXPECT_EQ(all[4].bytes, std::nullopt) << "would not fit";
  EXPECT_EQ(all[5].bytes, std::nullopt) << "not known";
}

TEST_F(NcclRowsTest, AnOldPluginHasNoCallsAndCountsSomeInBytes) {
  communicator(10, -1);
  collective(120, 4, 0, Function::kAllGather, 3);
  collective(130, 5, 0, Function::kAllReduce, 9);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].bytes, 1024);
  EXPECT_EQ(all[0].dtype, DataType::kUnknown) << "NCCL says int8 whatever it was";
  EXPECT_EQ(all[0].count, std::nullopt);
  EXPECT_EQ(all[0].sequence, 3);
  EXPECT_EQ(all[1].dtype, DataType::kInt8);
  EXPECT_EQ(all[1].enqueue_ns, 130);
}

TEST_F(NcclRowsTest, MessagesHavePeersAndBuiltCollectivesHaveOneRow) {
  communicator(10);
  call(100, 1, Function::kSend);
  call(101, 2, Function::kRecv);
  call(200, 3, Function::kAllToAll);
  message(210, 4, 1, Function::kSend, 5, 8);
  message(211, 5, 2, Function::kRecv, 6, 9);
  for (uint64_t i = 0; i < 8; ++i) message(220 + i, 10 + i, 3, Function::kSend, 1, i);
  message(300, 30, 0, Function::kSend, 2, wire::kNoSequence);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[0].peer, 5);
  EXPECT_EQ(all[0].sequence, 8);
  EXPECT_EQ(all[1].peer, 6);
  EXPECT_EQ(all[1].function, Function::kRecv);
  EXPECT_EQ(all[2].function, Function::kAllToAll);
  EXPECT_EQ(all[2].peer, std::nullopt);
  EXPECT_EQ(all[2].sequence, 0) << "counted here";
  EXPECT_EQ(all[3].peer, 2) << "a plugin that names no call";
  EXPECT_EQ(all[3].sequence, std::nullopt);
}

TEST_F(NcclRowsTest, CapturedCallsHaveNoNumber) {
  communicator(10);
  wire::NcclCall body = call_of(1, Function::kAllReduce);
  body.flags = wire::nccl_flag::kCaptured;
  main_.push(record_of(Kind::kNcclCall, 0, 100, body));
  const auto all = result();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].captured, 1);
  EXPECT_EQ(all[0].sequence, std::nullopt);
}

TEST_F(NcclRowsTest, CallsOfSeveralThreadsStandInOrderOfTime) {
  communicator(10);
  wire::RingWriter second = process_.open_ring(2, kPid + 1);
  call(300, 1, Function::kAllReduce);
  second.push(record_of(Kind::kNcclCall, 0, 200, call_of(2, Function::kBroadcast)));
  const auto all = result();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].enqueue_ns, 200);
  EXPECT_EQ(all[0].group_sequence, 0);
  EXPECT_EQ(all[1].enqueue_ns, 300);
}

TEST_F(NcclRowsTest, WhatMakesNoSenseIsLeftOutAndCounted) {
  communicator(10);
  wire::NcclCall body = call_of(1, Function::kAllReduce);
  body.function = 200;
  main_.push(record_of(Kind::kNcclCall, 0, 100, body));
  body = call_of(1, Function::kAllReduce, -7);
  main_.push(record_of(Kind::kNcclCall, 0, 100, body));
  body = call_of(0, Function::kAllReduce);
  main_.push(record_of(Kind::kNcclCall, 0, 100, body));
  body = call_of(1, Function::kAllReduce);
  body.data_type = 99;
  main_.push(record_of(Kind::kNcclCall, 0, 100, body));
  body = call_of(1, Function::kAllReduce);
  body.root = INT32_MIN;
  main_.push(record_of(Kind::kNcclCall, 0, 100, body));
  message(100, 1, 0, Function::kAllReduce, 1, 0);
  wire::NcclCommunicator communicator{};
  communicator.hash = 1;
  communicator.ranks = 2;
  communicator.rank = 2;
  main_.push(record_of(Kind::kNcclCommunicator, 0, 100, communicator));
  main_.push(record_of(Kind{35}, 0, 100, wire::NcclLaunch{}));
  main_.push(record_of(Kind{45}, 0, 100, wire::NcclLaunch{}));
  // Incomplete pairs do no harm.
  collective(100, 3, 999, Function::kAllReduce, wire::kNoSequence);
  launch(100, 77);
  kernel(4444, 5, 100, 200);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].sequence, std::nullopt);
  EXPECT_EQ(all[0].start_ns, std::nullopt);
  int64_t bad = 0;
  for (const auto& row : rows<schema::LossRow>(*trace_)) bad += row.count;
  EXPECT_EQ(bad, 9);
}

TEST_F(NcclRowsTest, CommunicatorsAndOpenRowsAreBounded) {
  uint64_t next = 1;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 4000; ++i) {
      communicator(100 + next, 8, next);
      wire::NcclCall body = call_of(next, Function::kAllReduce);
      body.hash = next;
      body.launch = next;
      main_.push(record_of(Kind::kNcclCall, 0, 100 + next, body));
      launch_ = next;
      launch(100 + next, next);
      ++next;
    }
    drain_.pass();
    drain_.flush();
  }
  const auto all = result();
  EXPECT_EQ(all.size(), 16384u);
  EXPECT_LE(communicators().size(), Communicators::kMost);
  int64_t bad = 0;
  for (const auto& row : rows<schema::LossRow>(*trace_)) bad += row.count;
  EXPECT_EQ(bad, static_cast<int64_t>(2 * (next - 1 - 16384)));
}

}  // namespace
}  // namespace dprof::recorder
