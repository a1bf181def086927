// SPDX-License-Identifier: Apache-2.0
// NCCL's channels and proxy operations as rows of nccl_event.
#include <gmock/gmock.h>

#include "collector/recorder/rows/nccl_rows.h"
#include "collector/recorder/test_support/nccl_fixture.h"

namespace dprof::recorder {
namespace {

using schema::Function;
using schema::NcclEventKind;
using schema::NcclEventRow;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::Kind;

class NcclEventsTest : public NcclRowsTest {
 protected:
  void channel(uint64_t ticks, uint64_t parent, uint32_t number, uint64_t start, uint64_t stop) {
    wire::NcclKernelChannel body{};
    body.parent = parent;
    body.start_device_ns = start;
    body.stop_device_ns = stop;
    body.channel = number;
    proxy_.push(record_of(Kind::kNcclKernelChannel, 0, ticks, body));
  }
  static wire::NcclProxy proxy_of(uint64_t parent) {
    wire::NcclProxy body{};
    body.parent = parent;
    body.bytes = 65536;
    body.duration_ticks = 4000;
    body.peer = 6;
    body.steps = 8;
    body.channel = 3;
    body.is_send = 1;
    return body;
  }
  void proxy(uint64_t ticks, const wire::NcclProxy& body) {
    proxy_.push(record_of(Kind::kNcclProxy, 0, ticks, body));
  }
  std::vector<NcclEventRow> events() {
    collectives_ = result();
    return rows<NcclEventRow>(*trace_);
  }
  int64_t bad_records() {
    int64_t bad = 0;
    for (const auto& row : rows<schema::LossRow>(*trace_)) bad += row.count;
    return bad;
  }

  wire::RingWriter proxy_ = process_.open_ring(2, kPid + 7);
  std::vector<schema::CollectiveRow> collectives_;
};

TEST_F(NcclEventsTest, AChannelAndAProxyBelongToTheirCollective) {
  communicator(10);
  call(100, 1, Function::kAllReduce);
  call(105, 2, Function::kSend);
  collective(120, 3, 1, Function::kAllReduce, 17);
  message(125, 4, 2, Function::kSend, 5, 0);
  channel(300, 3, 11, 7'000'000, 7'009'000);
  proxy(310, proxy_of(4));
  const auto all = events();
  ASSERT_THAT(all, SizeIs(2));
  ASSERT_THAT(collectives_, SizeIs(2));
  EXPECT_EQ(all[0], (NcclEventRow{.id = 1,
                                  .collective_id = collectives_[0].id,
                                  .kind = NcclEventKind::kChannel,
                                  .channel = 11,
                                  .start_ns = 300,
                                  .device_start_ns = 7'000'000,
                                  .device_end_ns = 7'009'000}));
  EXPECT_EQ(all[1], (NcclEventRow{.id = 2,
                                  .collective_id = collectives_[1].id,
                                  .kind = NcclEventKind::kProxy,
                                  .channel = 3,
                                  .peer = 6,
                                  .is_send = 1,
                                  .bytes = 65536,
                                  .steps = 8,
                                  .start_ns = 310,
                                  .duration_ns = 4000}));
  EXPECT_EQ(drain_.totals().events, 4) << "two collectives and two events";
  EXPECT_EQ(bad_records(), 0);
}

// The proxy's thread reports an event when it is over: long after its collective was written.
TEST_F(NcclEventsTest, TheParentMayHaveBeenWrittenLongBefore) {
  communicator(10);
  call(100, 1, Function::kAllReduce);
  collective(120, 3, 1, Function::kAllReduce, 17);
  drain_.pass();
  drain_.flush();
  drain_.pass();
  drain_.flush();
  channel(130, 3, 0, 5, 9);
  const auto all = events();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].collective_id, collectives_.at(0).id);
}

TEST_F(NcclEventsTest, WhatIsNotKnownIsNull) {
  wire::NcclProxy body = proxy_of(0);  // with PXN the parent is another process's
  body.bytes = -1;
  body.peer = -1;
  body.steps = 0;
  body.duration_ticks = 0;
  body.is_send = 0;
  proxy(100, body);
  channel(200, 987, 2, 0, 0);    // an unknown parent
  channel(300, 0, 2, 500, 400);  // the end of another kernel
  const auto all = events();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(
      all[0],
      (NcclEventRow{
          .id = 1, .kind = NcclEventKind::kProxy, .channel = 3, .is_send = 0, .start_ns = 100}));
  EXPECT_EQ(all[1], (NcclEventRow{
                        .id = 2, .kind = NcclEventKind::kChannel, .channel = 2, .start_ns = 200}));
  EXPECT_EQ(all[2].device_start_ns, 500);
  EXPECT_EQ(all[2].device_end_ns, std::nullopt);
  EXPECT_EQ(bad_records(), 0);
}

TEST_F(NcclEventsTest, WhatMakesNoSenseIsLeftOutAndCounted) {
  channel(100, 0, 0, ~uint64_t{0}, 5);
  channel(100, 0, 0, 5, ~uint64_t{0});
  wire::NcclProxy body = proxy_of(0);
  body.bytes = -2;
  proxy(100, body);
  body = proxy_of(0);
  body.peer = -2;
  proxy(100, body);
  body = proxy_of(0);
  body.is_send = 2;
  proxy(100, body);
  body = proxy_of(0);
  body.duration_ticks = ~uint64_t{0};  // it would end before it began
  proxy(100, body);
  body.duration_ticks = uint64_t{1} << 62;  // in a hundred years
  proxy(100, body);
  EXPECT_THAT(events(), IsEmpty());
  EXPECT_EQ(bad_records(), 7);
}

}  // namespace
}  // namespace dprof::recorder
