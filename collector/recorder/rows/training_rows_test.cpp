// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/training_rows.h"

#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "collector/recorder/test_support/drain_fixture.h"
#include "collector/wire/enum_values.h"

namespace dprof::recorder {
namespace {

using schema::LossReason;
using schema::MemoryEventKind;
using ::testing::SizeIs;
using wire::Kind;

// NVTX_PAYLOAD_ENTRY_TYPE_*
constexpr uint64_t kCharField = 1, kInt64Field = 17, kUint64Field = 18;
constexpr uint64_t kSchemaId = 16777300;

struct BatchBytes {
  uint64_t index_hash;
  int64_t epoch;
  int64_t queue_depth;
  char shape[16];
};

template <typename Body>
wire::Record training_record(Kind kind, uint64_t ticks, const Body& body, uint32_t string = 0) {
  wire::Record record{};
  record.kind = kind;
  record.slots = 1;
  record.ticks = ticks;
  record.string = string;
  wire::set_body(record, body);
  return record;
}

class TrainingRowsTest : public DrainTest {
 protected:
  wire::Record memory(uint8_t kind, uint64_t ticks, uint64_t address, int64_t bytes,
                      int16_t device = wire::kHostDevice) {
    return training_record(Kind::kMemoryEvent, ticks,
                           wire::MemoryEvent{.address = address,
                                             .bytes = bytes,
                                             .requested_bytes = bytes,
                                             .device = device,
                                             .kind = kind});
  }

  // One id per domain, as one handle has.
  uint32_t domain_id(const char* name) {
    uint32_t& id = domains_[name];
    if (id == 0) id = process_.text(name);
    return id;
  }

  void add_field(wire::RingWriter& ring, const char* domain, uint32_t index, const char* name,
                 uint64_t type, uint64_t offset, uint64_t array = 0) {
    wire::Record entry{};
    entry.kind = Kind::kSchemaEntry;
    entry.slots = 1;
    entry.string = process_.text(name);
    entry.ticks = 1;
    entry.schema_entry = {.schema_id = kSchemaId,
                          .type = type,
                          .offset = offset,
                          .domain = domain_id(domain),
                          .schema_name = process_.text("dprof.batch"),
                          .index = index,
                          .flags = array != 0 ? 1u << 4 : 0,
                          .detail = array};
    ring.push(entry);
  }
  void add_batch_schema(wire::RingWriter& ring, const char* domain = "dprof") {
    add_field(ring, domain, 0, "index_hash", kUint64Field, offsetof(BatchBytes, index_hash));
    add_field(ring, domain, 1, "epoch", kInt64Field, offsetof(BatchBytes, epoch));
    add_field(ring, domain, 2, "queue_depth", kInt64Field, offsetof(BatchBytes, queue_depth));
    add_field(ring, domain, 3, "shape", kCharField, offsetof(BatchBytes, shape), 16);
  }
  void say_batch(wire::RingWriter& ring, uint64_t ticks, const BatchBytes& batch,
                 const char* domain = "dprof") {
    wire::Record mark = range_begin(process_.text("batch"), ticks, wire::range_category::kNvtxMark);
    mark.range_begin.domain = domain_id(domain);
    mark.range_begin.payload_kind = wire::payload_kind::kSchema;
    mark.range_begin.schema_id = kSchemaId;
    mark.range_begin.payload = sizeof batch;
    ring.push(mark, &batch, sizeof batch);
  }
  void wait(wire::RingWriter& ring, const char* name, uint64_t start, uint64_t end) {
    ring.push(range_begin(process_.text(name), start, wire::range_category::kUser));
    ring.push(range_end(end, wire::range_category::kUser));
  }

 private:
  std::map<std::string, uint32_t> domains_;
};

TEST_F(TrainingRowsTest, MemoryEventsStandInOrderOfTimeAndFreesHaveTheirSize) {
  wire::RingWriter one = process_.open_ring(0, kPid);
  wire::RingWriter other = process_.open_ring(1, kPid + 1);
  one.push(memory(wire::memory_event_kind::kAlloc, 1000, 0xA0, 64));
  one.push(memory(wire::memory_event_kind::kAlloc, 3000, 0xB0, 32, 0));
  other.push(memory(wire::memory_event_kind::kFree, 2000, 0xA0, 0));
  other.push(memory(wire::memory_event_kind::kFree, 2500, 0xC0, 0));  // never seen allocated
  drain_.pass();
  drain_.flush();
  one.push(memory(wire::memory_event_kind::kOom, 4000, 0, 1 << 20, 0));
  drain_.pass();

  const schema::TraceReader trace = read();
  const auto events = rows<schema::MemoryEventRow>(trace);
  ASSERT_THAT(events, SizeIs(4));
  EXPECT_EQ(events[0].time_ns, 1000);
  EXPECT_EQ(events[1].kind, MemoryEventKind::kFree);
  EXPECT_EQ(events[1].bytes, 64);
  EXPECT_EQ(events[1].device_id, -1);
  EXPECT_EQ(events[2].device_id, 0);
  EXPECT_EQ(events[2].category, std::nullopt);
  EXPECT_EQ(events[3].kind, MemoryEventKind::kOom);
  EXPECT_EQ(events[3].bytes, 1 << 20);
}

TEST_F(TrainingRowsTest, SamplesBelongToTheStepThatTheyEnd) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  for (uint64_t step = 0; step < 2; ++step) {
    const uint64_t at = 1000 + step * 1000;
    ring.push(range_begin(process_.text("step"), at, wire::range_category::kUser));
    ring.push(training_record(Kind::kMemorySample, at + 800,
                              wire::MemorySample{.allocated_bytes = 10,
                                                 .reserved_bytes = 20,
                                                 .peak_allocated_bytes = step == 0 ? 15 : -1,
                                                 .peak_reserved_bytes = -1,
                                                 .step = -1,
                                                 .device = 0}));
    ring.push(range_end(at + 900, wire::range_category::kUser));
  }
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto samples = rows<schema::MemorySampleRow>(trace);
  ASSERT_THAT(samples, SizeIs(2));
  EXPECT_EQ(samples[0].step_index, 0);
  EXPECT_EQ(samples[0].peak_allocated_bytes, 15);
  EXPECT_EQ(samples[1].step_index, 1);
  EXPECT_EQ(samples[1].peak_allocated_bytes, std::nullopt);
  EXPECT_EQ(samples[1].allocated_bytes, 10);
}

TEST_F(TrainingRowsTest, MembersOfAGroupAreWrittenOnce) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  wire::Record group{};
  group.kind = Kind::kCommunicator;
  group.slots = 1;
  group.ticks = 10;
  group.string = process_.text("shard");
  group.communicator = {.group = 77, .size = 2, .own_rank = 1, .backend = wire::backend::kGloo};
  ring.push(group);
  for (int round = 0; round < 2; ++round) {
    ring.push(training_record(Kind::kGroupMember, 11, wire::GroupMember{77, 0, 3, {}}));
    ring.push(training_record(Kind::kGroupMember, 12, wire::GroupMember{77, 1, 5, {}}));
  }
  ring.push(training_record(Kind::kGroupMember, 13, wire::GroupMember{77, -1, 5, {}}));
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto members = rows<schema::CommunicatorMemberRow>(trace);
  ASSERT_THAT(members, SizeIs(2));
  const auto groups = rows<schema::CommunicatorRow>(trace);
  ASSERT_THAT(groups, SizeIs(1));
  EXPECT_EQ(members[0].communicator_id, groups[0].id);
  EXPECT_EQ(members[0].rank, 3);
  EXPECT_EQ(members[1].member, 1);
  EXPECT_EQ(members[1].rank, 5);
  EXPECT_THAT(rows<schema::LossRow>(trace), SizeIs(1)) << "the one that makes no sense";
}

TEST_F(TrainingRowsTest, BucketsAndSettingsMakeMetaDdp) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  const auto bucket = [&](int32_t index, int64_t bytes, int32_t parameters) {
    ring.push(training_record(Kind::kBucket, 10,
                              wire::Bucket{.group = 77,
                                           .bytes = bytes,
                                           .ready_ticks = 5,
                                           .index = index,
                                           .parameters = parameters}));
  };
  bucket(0, 100, 2);
  bucket(1, 200, 3);
  bucket(2, 300, 1);
  bucket(0, 500, 6);  // rebuilt
  bucket(1, 100, -1);
  ring.push(training_record(Kind::kSetting, 20, wire::Empty{},
                            process_.text("ddp.find_unused_parameters=true")));
  ring.push(training_record(Kind::kSetting, 21, wire::Empty{}, process_.text("run_id=mine")));
  ring.push(training_record(Kind::kSetting, 22, wire::Empty{}, process_.text("ddp.nothing")));
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto ddp = nlohmann::json::parse(trace.meta("ddp").value_or("{}"));
  EXPECT_EQ(ddp["find_unused_parameters"], "true");
  ASSERT_THAT(ddp["buckets"], SizeIs(1));
  const nlohmann::json& buckets = ddp["buckets"][0]["buckets"];
  ASSERT_THAT(buckets, SizeIs(2));
  EXPECT_EQ(buckets[0]["bytes"], 500);
  EXPECT_EQ(buckets[0]["parameters"], 6);
  EXPECT_TRUE(buckets[1]["parameters"].is_null());
  EXPECT_EQ(trace.meta("run_id"), std::nullopt);
  const auto losses = rows<schema::LossRow>(trace);
  ASSERT_THAT(losses, SizeIs(1));
  EXPECT_EQ(losses[0].count, 2);
}

TEST_F(TrainingRowsTest, WaitsGetWhatIsSaidOfTheirBatch) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  add_batch_schema(ring);
  // Said within the wait, after it, not at all.
  ring.push(range_begin(process_.text("input"), 1000, wire::range_category::kUser));
  say_batch(ring, 1500, {0xFFFFFFFFFFFFFFF0u, 2, 3, "4x1x28x28"});
  ring.push(range_end(1600, wire::range_category::kUser));
  wait(ring, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 2000, 2100);
  say_batch(ring, 2200, {7, -1, -1, ""});
  wait(ring, "input", 3000, 3500);
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto events = rows<schema::LoaderEventRow>(trace);
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].start_ns, 1000);
  EXPECT_EQ(events[0].duration_ns, 600);
  EXPECT_EQ(events[0].index_hash, -16);
  EXPECT_EQ(events[0].epoch, 2);
  EXPECT_EQ(events[0].queue_depth, 3);
  EXPECT_EQ(events[0].batch_shape, "4x1x28x28");
  EXPECT_EQ(events[1].start_ns, 2000);
  EXPECT_EQ(events[1].index_hash, 7);
  EXPECT_EQ(events[1].epoch, std::nullopt);
  EXPECT_EQ(events[1].queue_depth, std::nullopt);
  EXPECT_EQ(events[1].batch_shape, std::nullopt);
  EXPECT_EQ(events[2].duration_ns, 500);
  EXPECT_EQ(events[2].index_hash, std::nullopt) << "unknown, never the last one's";
}

TEST_F(TrainingRowsTest, AWaitThatHoldsAnotherIsNotASecondOne) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  add_batch_schema(ring);
  ring.push(range_begin(process_.text("input"), 1000, wire::range_category::kUser));
  wait(ring, "enumerate(DataLoader)#x", 1100, 1200);
  say_batch(ring, 1300, {9, 0, 0, "8"});
  ring.push(range_end(1400, wire::range_category::kUser));
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto events = rows<schema::LoaderEventRow>(trace);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].start_ns, 1100);
  EXPECT_EQ(events[0].index_hash, 9);
}

TEST_F(TrainingRowsTest, ABatchWithoutAWaitHasNoDuration) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  add_batch_schema(ring);
  say_batch(ring, 500, {1, 0, 0, "8"});
  say_batch(ring, 600, {2, 0, 0, "8"});
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto events = rows<schema::LoaderEventRow>(trace);
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].start_ns, 500);
  EXPECT_EQ(events[0].duration_ns, std::nullopt);
  EXPECT_EQ(events[1].index_hash, 2);
}

TEST_F(TrainingRowsTest, OtherDomainsSayNothing) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  add_batch_schema(ring, "mine");
  wait(ring, "input", 1000, 1100);
  say_batch(ring, 1050, {1, 0, 0, "8"}, "mine");
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto events = rows<schema::LoaderEventRow>(trace);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].index_hash, std::nullopt);
}

TEST_F(TrainingRowsTest, NonsenseIsCounted) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  ring.push(memory(6, 10, 1, 1));
  ring.push(memory(wire::memory_event_kind::kAlloc, 11, 1, -5));
  ring.push(memory(wire::memory_event_kind::kAlloc, 12, 1, 1, -7));
  ring.push(training_record(Kind::kMemoryTag, 13, wire::MemoryTag{.address = 1, .category = 99}));
  ring.push(training_record(Kind::kBucket, 14, wire::Bucket{.group = 1, .index = -1}));
  ring.push(training_record(Kind::kBucket, 15, wire::Bucket{.group = 1, .index = INT32_MAX}));
  ring.push(training_record(Kind::kGroupMember, 16, wire::GroupMember{0, 0, 0, {}}));
  drain_.pass();
  const schema::TraceReader trace = read();
  EXPECT_THAT(rows<schema::MemoryEventRow>(trace), SizeIs(0));
  const auto losses = rows<schema::LossRow>(trace);
  ASSERT_THAT(losses, SizeIs(1));
  EXPECT_EQ(losses[0].reason, LossReason::kBadRecord);
  EXPECT_EQ(losses[0].count, 7);
}

}  // namespace
}  // namespace dprof::recorder
