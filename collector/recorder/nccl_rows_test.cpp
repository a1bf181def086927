// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/nccl_rows.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <string>

#include "collector/recorder/test_support/drain_fixture.h"
#include "collector/wire/gpu_records.h"

namespace dprof::recorder {
namespace {

using schema::CollectiveRow;
using schema::CollectiveState;
using schema::DataType;
using schema::Function;
using schema::Reduction;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::Kind;

constexpr uint64_t kGroup = 0xABCD;   // LibTorch's hash of the process group
constexpr uint64_t kHash = 0x5EED;    // NCCL's
constexpr uint64_t kStream = 0x7000;  // cudaStream_t
constexpr uint8_t kNccl = 2;          // Backend
constexpr uint8_t kNvtx = 3;          // RangeCategory
constexpr uint64_t kSid = uint64_t{1} << 24;

template <typename Body>
wire::Record record_of(Kind kind, uint32_t text, uint64_t ticks, const Body& body) {
  wire::Record record{};
  record.kind = kind;
  record.slots = 1;
  record.string = text;
  record.ticks = ticks;
  set_body(record, body);
  return record;
}

class NcclRowsTest : public DrainTest {
 protected:
  void communicator(uint64_t ticks, int32_t ranks = 8, uint64_t hash = kHash,
                    uint64_t ordinal = 0) {
    wire::NcclCommunicator body{};
    body.hash = hash;
    body.ordinal = ordinal;
    body.ranks = ranks;
    body.rank = 0;
    main_.push(record_of(Kind::kNcclCommunicator, 0, ticks, body));
  }
  void group(int32_t size = 8) {
    wire::Record record{};
    record.kind = Kind::kCommunicator;
    record.slots = 1;
    record.string = process_.text("default_pg");
    record.ticks = 5;
    record.communicator = {.group = kGroup, .size = size, .own_rank = 3, .backend = kNccl};
    main_.push(record);
  }
  void torch(uint64_t ticks, Function function, uint16_t bucket = 0) {
    wire::Record record = collective_enqueue(process_.text("c10d::op"), ticks, kGroup,
                                             static_cast<uint8_t>(function));
    record.enqueue.backend = kNccl;
    record.enqueue.bucket = bucket;
    record.enqueue.ready_ticks = bucket != 0 ? ticks - 10 : 0;
    main_.push(record);
  }
  wire::NcclCall call_of(uint64_t id, Function function, int64_t count = 1024) {
    wire::NcclCall body{};
    body.id = id;
    body.hash = kHash;
    body.count = count;
    body.stream = kStream;
    body.launch = launch_;
    body.root = -1;
    body.function = static_cast<uint8_t>(function);
    body.data_type = 8;  // float32
    return body;
  }
  void call(uint64_t ticks, uint64_t id, Function function, int64_t count = 1024) {
    main_.push(record_of(Kind::kNcclCall, 0, ticks, call_of(id, function, count)));
  }
  void collective(uint64_t ticks, uint64_t id, uint64_t of_call, Function function,
                  uint64_t sequence) {
    wire::NcclCollective body{};
    body.id = id;
    body.call = of_call;
    body.hash = kHash;
    body.sequence = sequence;
    body.count = 1024;
    body.root = -1;
    body.function = static_cast<uint8_t>(function);
    body.data_type = of_call != 0 ? 8 : 2;
    body.channels = 24;
    const wire::NcclTuning tuning{process_.text("RING"), process_.text("LL128"), 16, {}};
    main_.push(record_of(Kind::kNcclCollective, 0, ticks, body), &tuning, sizeof tuning);
  }
  void message(uint64_t ticks, uint64_t id, uint64_t of_call, Function function, int32_t peer,
               uint64_t sequence) {
    wire::NcclPointToPoint body{};
    body.id = id;
    body.call = of_call;
    body.hash = kHash;
    body.sequence = sequence;
    body.count = 1024;
    body.peer = peer;
    body.function = static_cast<uint8_t>(function);
    body.data_type = 8;
    body.channels = 2;
    main_.push(record_of(Kind::kNcclPointToPoint, 0, ticks, body));
  }
  void launch(uint64_t ticks, uint64_t id) {
    wire::NcclLaunch body{};
    body.id = id;
    body.group = launch_;
    body.stream = kStream;
    main_.push(record_of(Kind::kNcclLaunch, 0, ticks, body));
  }
  void kernel(uint64_t launch_id, uint32_t correlation, int64_t start_ns, int64_t end_ns,
              bool external_first = false) {
    const auto external = [&] {
      helper_.push(
          record_of(Kind::kExternalCorrelation, 0, 900'000,
                    wire::ExternalCorrelation{.external = launch_id, .correlation = correlation}));
    };
    if (external_first) external();
    wire::GpuActivity body{};
    body.start_ns = start_ns;
    body.end_ns = end_ns;
    body.stream = 21;
    body.correlation = correlation;
    helper_.push(record_of(Kind::kGpuActivity, process_.text("ncclDevKernel"), 900'000, body));
    if (!external_first) external();
  }
  void schema_field(uint64_t schema, uint32_t index, const char* name, uint64_t type,
                    uint64_t offset) {
    wire::Record record{};
    record.kind = Kind::kSchemaEntry;
    record.slots = 1;
    record.string = process_.text(name);
    record.ticks = 1;
    record.schema_entry.schema_id = schema;
    record.schema_entry.type = type;
    record.schema_entry.offset = offset;
    record.schema_entry.domain = domain_;
    record.schema_entry.index = index;
    main_.push(record);
  }
  void nvtx_schemas() {
    schema_field(kSid + 5, 0, "NCCL communicator ID", 18, 0);
    schema_field(kSid + 5, 1, "Message size [bytes]", 22, 8);
    schema_field(kSid + 5, 2, "Reduction operation", kSid + 20, 16);
    schema_field(kSid + 9, 0, "NCCL communicator ID", 18, 0);
    schema_field(kSid + 9, 1, "Message size [bytes]", 22, 8);
    schema_field(kSid + 9, 2, "Peer rank", 5, 16);
    schema_field(kSid, 0, "NCCL communicator ID", 18, 0);
    schema_field(kSid, 1, "No. of ranks", 5, 8);
    schema_field(kSid, 2, "Rank", 5, 12);
    schema_field(kSid, 3, "CUDA device", 5, 16);
  }
  // A range of NCCL's with its payload of three words at the push; ends 5 ticks later.
  void nvtx(uint64_t ticks, const char* name, uint64_t schema, uint64_t bytes, uint64_t third) {
    const uint64_t payload[] = {kHash, bytes, third};
    wire::Record begin = range_begin(process_.text(name), ticks, kNvtx);
    begin.range_begin.domain = domain_;
    begin.range_begin.payload_kind = 7;
    begin.range_begin.payload = sizeof payload;
    begin.range_begin.schema_id = schema;
    main_.push(begin, payload, sizeof payload);
    wire::Record end = range_end(ticks + 5, kNvtx);
    end.range_end.domain = domain_;
    main_.push(end);
  }
  std::vector<CollectiveRow> result() {
    drain_.pass();
    trace_.emplace(read());
    return rows<CollectiveRow>(*trace_);
  }
  std::vector<schema::CommunicatorRow> communicators() {
    return rows<schema::CommunicatorRow>(*trace_);
  }

  uint64_t launch_ = 500;  // id of NCCL's group
  wire::RingWriter helper_ = process_.open_ring(0, kPid + 50);
  wire::RingWriter main_ = process_.open_ring(1, kPid);
  uint32_t domain_ = process_.text("NCCL");
  std::optional<schema::TraceReader> trace_;
};

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
  torch(290, Function::kAllReduce);  // the plugin says nothing of it
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
  communicator(150, 8, kHash, 1);  // made anew
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

TEST_F(NcclRowsTest, WithoutPluginAndTorchNcclsOwnRangesMakeRows) {
  nvtx_schemas();
  const struct {
    uint64_t hash;
    int32_t ranks, rank, device, padding;
  } init{kHash, 4, 3, 0, 0};
  wire::Record begin = range_begin(process_.text("ncclCommInitRank"), 20, kNvtx);
  begin.range_begin.domain = domain_;
  main_.push(begin);
  wire::Record end = range_end(40, kNvtx);
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
  nvtx(120, "ncclAllReduce", kSid + 5, 4096, 0);  // somebody else's
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
  main_.push(record_of(Kind::kNcclStop, 0, 100, wire::NcclStop{}));
  main_.push(record_of(Kind{45}, 0, 100, wire::NcclStop{}));
  // Halves without their other half do no harm.
  collective(100, 3, 999, Function::kAllReduce, wire::kNoSequence);
  launch(100, 77);
  main_.push(record_of(Kind::kNcclStop, 0, 100, wire::NcclStop{.id = 12345}));
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
