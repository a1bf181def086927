// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/collectives.h"

#include <gmock/gmock.h>

#include "collector/recorder/test_support/drain_fixture.h"

namespace dprof::recorder {
namespace {

using schema::CollectiveRow;
using schema::CollectiveState;
using schema::Function;
using ::testing::SizeIs;
using wire::Kind;

constexpr uint64_t kWorld = 0xABCD, kPair = 0x1234;

class CollectivesTest : public DrainTest {
 protected:
  void enqueue(uint64_t ticks, uint64_t group, Function function) {
    main_.push(collective_enqueue(process_.text("c10d::op"), ticks, group,
                                  static_cast<uint8_t>(function)));
  }
  void begin(wire::RingWriter& ring, uint64_t ticks, const char* name, uint64_t key) {
    ring.push(collective_edge(Kind::kCollectiveBegin, process_.text(name), ticks, key));
  }
  static void end(wire::RingWriter& ring, uint64_t ticks, uint64_t key) {
    ring.push(collective_edge(Kind::kCollectiveEnd, 0, ticks, key));
  }
  std::vector<CollectiveRow> result() {
    drain_.pass();
    return rows<CollectiveRow>(read());
  }

  // Ring 0 belongs to a worker: it is read before the caller's.
  wire::RingWriter worker_ = process_.open_ring(0, kPid + 1);
  wire::RingWriter main_ = process_.open_ring(1, kPid);
  wire::RingWriter second_worker_ = process_.open_ring(2, kPid + 2);
};

TEST_F(CollectivesTest, AnEndWithAnErrorIsNoCompletion) {
  for (uint64_t i = 0; i < 2; ++i) enqueue(100 + i, kWorld, Function::kAllReduce);
  begin(worker_, 200, "gloo:all_reduce", 1);
  end(worker_, 300, 1);
  begin(worker_, 310, "gloo:all_reduce", 1);
  wire::Record failed = collective_edge(
      Kind::kCollectiveEnd, process_.text("Timed out waiting 5000ms for recv"), 5310, 1);
  failed.edge.failed = 1;
  worker_.push(failed);
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto all = rows<CollectiveRow>(trace);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].state, CollectiveState::kComplete);
  EXPECT_EQ(all[1].state, CollectiveState::kFailed);
  EXPECT_EQ(all[1].end_ns, 5310);
  const auto remarks = rows<schema::DiagnosticRow>(trace);
  ASSERT_THAT(remarks, SizeIs(1));
  EXPECT_EQ(remarks[0].code, "collective_failed");
  EXPECT_EQ(remarks[0].count, 1);
  EXPECT_EQ(trace.string(remarks[0].text_id), "Timed out waiting 5000ms for recv");
}

TEST_F(CollectivesTest, SaysWhatIsOpenAndHowFarItHasCome) {
  for (uint64_t i = 0; i < 3; ++i) enqueue(100 + i, kWorld, Function::kAllReduce);
  enqueue(110, kPair, Function::kBroadcast);
  begin(worker_, 200, "gloo:all_reduce", 1);
  end(worker_, 300, 1);
  begin(worker_, 310, "gloo:all_reduce", 1);
  drain_.pass();
  const HowFar far = drain_.how_far();
  EXPECT_EQ(far.last_progress_ns, 300);
  ASSERT_THAT(far.open, SizeIs(3));
  EXPECT_EQ(far.open[0].communicator, kWorld);
  EXPECT_EQ(far.open[0].sequence, 1);
  EXPECT_EQ(far.open[0].since_ns, 101);
  EXPECT_EQ(far.open[1].sequence, 2);
  EXPECT_EQ(far.open[2].function, Function::kBroadcast);
  EXPECT_TRUE(far.open[2].observed);
  const HowFar::Call all_reduce{kWorld, Function::kAllReduce};
  const HowFar::Call member{kPair, Function::kUnknown};
  EXPECT_EQ(far.called.at(all_reduce), 3);
  EXPECT_TRUE(far.called.contains(member));
}

TEST_F(CollectivesTest, JoinsTheNthEnqueueToTheNthStartOverBothWorkers) {
  wire::Record group{};
  group.kind = Kind::kCommunicator;
  group.slots = 1;
  group.string = process_.text("default_pg");
  group.ticks = 5;
  group.communicator = {.group = kWorld, .size = 4, .own_rank = 3, .backend = 1};
  main_.push(group);
  for (uint64_t i = 0; i < 4; ++i) enqueue(100 + i, kWorld, Function::kAllReduce);
  begin(worker_, 200, "gloo:all_reduce", 1);
  begin(second_worker_, 210, "gloo:all_reduce", 2);
  end(worker_, 300, 1);
  begin(worker_, 310, "gloo:all_reduce", 1);
  end(second_worker_, 320, 2);
  begin(second_worker_, 330, "gloo:all_reduce", 2);
  end(worker_, 400, 1);
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto all = rows<CollectiveRow>(trace);
  ASSERT_THAT(all, SizeIs(4));
  const int64_t starts[] = {200, 210, 310, 330};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all[i].enqueue_ns, static_cast<int64_t>(100 + i));
    EXPECT_EQ(all[i].start_ns, starts[i]);
    EXPECT_EQ(all[i].sequence, static_cast<int64_t>(i));
    EXPECT_EQ(all[i].function, Function::kAllReduce);
  }
  EXPECT_EQ(all[2].end_ns, 400);
  EXPECT_EQ(all[2].state, CollectiveState::kComplete);
  EXPECT_EQ(all[3].state, CollectiveState::kRunning);
  EXPECT_EQ(all[3].end_ns, std::nullopt);
  EXPECT_EQ(all[0].bytes, 4096);
  EXPECT_EQ(all[0].dtype, schema::DataType::kFloat32);
  EXPECT_EQ(all[0].reduction, schema::Reduction::kSum);
  EXPECT_EQ(all[0].root, std::nullopt);
  const auto communicators = rows<schema::CommunicatorRow>(trace);
  ASSERT_THAT(communicators, SizeIs(1));
  EXPECT_EQ(communicators[0].hash, static_cast<int64_t>(kWorld));
  EXPECT_EQ(communicators[0].size, 4);
  EXPECT_EQ(communicators[0].own_rank, 3);
  EXPECT_EQ(trace.string(communicators[0].name_id.value_or(0)), "default_pg");
  EXPECT_EQ(all[0].communicator_id, communicators[0].id);
  int communication_threads = 0;
  for (const schema::ThreadRow& thread : rows<schema::ThreadRow>(trace)) {
    if (thread.role == schema::ThreadRole::kCommunication) ++communication_threads;
    if (thread.os_tid == kPid) {
      EXPECT_EQ(thread.role, schema::ThreadRole::kMain);
    }
  }
  EXPECT_EQ(communication_threads, 2);
}

TEST_F(CollectivesTest, CountsPerFunctionAndPerGroup) {
  enqueue(100, kWorld, Function::kBroadcast);
  enqueue(101, kWorld, Function::kAllReduce);
  enqueue(102, kPair, Function::kAllReduce);
  enqueue(103, kWorld, Function::kAllReduce);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[3].sequence, 1);
  EXPECT_EQ(all[3].group_sequence, 2);
  EXPECT_EQ(all[2].sequence, 0);
  EXPECT_EQ(all[3].state, CollectiveState::kEnqueued);
}

TEST_F(CollectivesTest, TheFunctionIsThatOfTheCall) {
  enqueue(100, kWorld, Function::kReduceScatter);
  begin(worker_, 200, "gloo:all_reduce", 1);
  end(worker_, 300, 1);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].function, Function::kReduceScatter);
  EXPECT_EQ(all[0].state, CollectiveState::kComplete);
}

TEST_F(CollectivesTest, WorkersOfSeveralGroupsAreDistinguished) {
  enqueue(100, kWorld, Function::kAllReduce);
  begin(worker_, 110, "gloo:all_reduce", 1);  // only kWorld has something pending: bound to it
  end(worker_, 120, 1);
  enqueue(200, kPair, Function::kBroadcast);
  begin(second_worker_, 210, "gloo:broadcast", 2);
  end(second_worker_, 220, 2);
  // Both have one of a kind pending; the later call starts first.
  enqueue(300, kWorld, Function::kAllReduce);
  enqueue(301, kPair, Function::kAllReduce);
  begin(second_worker_, 310, "gloo:all_reduce", 2);
  begin(worker_, 320, "gloo:all_reduce", 1);
  end(second_worker_, 330, 2);
  end(worker_, 340, 1);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[2].start_ns, 320);
  EXPECT_EQ(all[3].start_ns, 310);
  EXPECT_NE(all[2].communicator_id, all[3].communicator_id);
}

TEST_F(CollectivesTest, WithoutACallItStillIsARow) {
  begin(worker_, 200, "gloo:all_gather", 1);
  end(worker_, 300, 1);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].function, Function::kAllGather);
  EXPECT_EQ(all[0].enqueue_ns, std::nullopt);
  EXPECT_EQ(all[0].communicator_id, std::nullopt);
  EXPECT_EQ(all[0].sequence, std::nullopt);
  EXPECT_EQ(all[0].start_ns, 200);
  EXPECT_EQ(all[0].end_ns, 300);
}

TEST_F(CollectivesTest, SendAndReceiveJoinOnTheirCaller) {
  enqueue(100, kWorld, Function::kAllReduce);
  enqueue(110, kWorld, Function::kSend);
  begin(main_, 111, "gloo:send", 9);
  end(main_, 180, 9);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[1].function, Function::kSend);
  EXPECT_EQ(all[1].start_ns, 111);
  EXPECT_EQ(all[1].end_ns, 180);
  EXPECT_EQ(all[0].state, CollectiveState::kEnqueued);
}

TEST_F(CollectivesTest, AReceiveFromAnySourceTakesItsOwnRange) {
  enqueue(110, kWorld, Function::kRecv);
  begin(main_, 111, "gloo:recvAnySource", 9);
  end(main_, 180, 9);
  enqueue(190, kWorld, Function::kRecv);
  begin(main_, 191, "gloo:recv", 9);
  end(main_, 200, 9);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].start_ns, 111);
  EXPECT_EQ(all[0].end_ns, 180);
  EXPECT_EQ(all[1].start_ns, 191);
}

TEST_F(CollectivesTest, AKeyThatIsReusedClosesNothingOfTheOld) {
  enqueue(100, kWorld, Function::kAllReduce);
  enqueue(101, kWorld, Function::kAllReduce);
  begin(worker_, 200, "gloo:all_reduce", 1);
  begin(worker_, 300, "gloo:all_reduce", 1);  // the end between them was lost
  end(worker_, 400, 1);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].state, CollectiveState::kUnobserved);
  EXPECT_EQ(all[0].end_ns, std::nullopt);
  EXPECT_EQ(all[1].start_ns, 300);
  EXPECT_EQ(all[1].end_ns, 400);
}

TEST_F(CollectivesTest, RowsAreCompletedAfterTheyWereWritten) {
  enqueue(100, kWorld, Function::kAllReduce);
  drain_.pass();
  drain_.pass();
  drain_.flush();
  begin(worker_, 200, "gloo:all_reduce", 1);
  drain_.pass();
  drain_.pass();
  drain_.flush();
  end(worker_, 300, 1);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].start_ns, 200);
  EXPECT_EQ(all[0].end_ns, 300);
  EXPECT_EQ(all[0].state, CollectiveState::kComplete);
  EXPECT_TRUE(all[0].thread_id.has_value());
}

TEST_F(CollectivesTest, OtherBackEndsAreNotWaitedFor) {
  wire::Record nccl = collective_enqueue(process_.text("c10d::allreduce_"), 100, kWorld,
                                         static_cast<uint8_t>(Function::kAllReduce));
  nccl.enqueue.backend = static_cast<uint8_t>(schema::Backend::kNccl);
  main_.push(nccl);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].state, CollectiveState::kUnobserved);
}

// A lost start must not shift all later ones by one.
TEST_F(CollectivesTest, ALossForgetsWhatWasPending) {
  enqueue(100, kWorld, Function::kAllReduce);
  drain_.pass();
  drain_.pass();
  wire::count_loss(process_.mapping().ring(0)->dropped, 150);
  drain_.pass();
  enqueue(200, kWorld, Function::kAllReduce);
  begin(worker_, 210, "gloo:all_reduce", 1);
  end(worker_, 220, 1);
  const auto all = result();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].state, CollectiveState::kUnobserved);
  EXPECT_EQ(all[1].start_ns, 210);
}

TEST(FunctionOfRangeTest, KnowsGloosNames) {
  EXPECT_EQ(function_of_range("gloo:all_reduce"), Function::kAllReduce);
  EXPECT_EQ(function_of_range("gloo:sparse_all_reduce"), Function::kAllReduce);
  EXPECT_EQ(function_of_range("gloo:all_to_all"), Function::kAllToAll);
  EXPECT_EQ(function_of_range("gloo:new_one"), Function::kUnknown);
  EXPECT_EQ(function_of_range("all_reduce"), Function::kUnknown);
}

}  // namespace
}  // namespace dprof::recorder
