// SPDX-License-Identifier: Apache-2.0
// Windows in a trace: what the drain writes, and which rows stay.
#include "collector/recorder/rows/row_hold.h"

#include <gmock/gmock.h>

#include "collector/recorder/test_support/drain_fixture.h"
#include "collector/wire/enum_values.h"

namespace dprof::recorder {
namespace {

using ::testing::SizeIs;
using wire::range_category::kNvtx;

class RowHoldTest : public DrainTest {
 protected:
  RowHoldTest() {
    output_->hold_rows([](int64_t begin_ns) { return begin_ns >= 2000 && begin_ns < 3000; });
  }
};

TEST_F(RowHoldTest, WhatBeginsInsideIsKeptWhole) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  const uint32_t name = process_.text("work");
  const auto push = [&](uint64_t begin, uint64_t end) {
    wire::Record record = range_begin(name, begin, kNvtx);
    record.range_begin.color = 5;
    record.range_begin.has = wire::kHasColor;
    ring.push(record);
    ring.push(range_end(end, kNvtx));
  };
  push(1000, 2500);  // begins before the window
  push(2600, 3500);  // ends after it
  push(3600, 3700);
  drain_.pass();
  drain_.flush();
  output_->decide(2700);
  const schema::TraceReader trace = read();
  const auto ranges = rows<schema::HostRangeRow>(trace);
  ASSERT_THAT(ranges, SizeIs(1));
  EXPECT_EQ(ranges[0].start_ns, 2600);
  EXPECT_EQ(ranges[0].duration_ns, 900);
  const auto details = rows<schema::RangeDetailRow>(trace);
  ASSERT_THAT(details, SizeIs(1));
  EXPECT_EQ(details[0].range_id, ranges[0].id);
  EXPECT_THAT(rows<schema::LossRow>(trace), SizeIs(0)) << "left out is not lost";
  EXPECT_EQ(output_->left_out(), 2);
  EXPECT_EQ(drain_.totals().events, 1);
}

TEST_F(RowHoldTest, ARangeThatIsCompletedLater) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  ring.push(range_begin(process_.text("waits"), 2100, kNvtx));
  drain_.pass();
  drain_.flush();
  ring.push(range_end(2200, kNvtx));  // while its row still waits
  drain_.pass();
  drain_.flush();
  ring.push(range_begin(process_.text("written"), 2300, kNvtx));
  drain_.pass();
  drain_.flush();
  output_->decide(2900);
  ring.push(range_end(5000, kNvtx));  // when its row is in the trace
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto ranges = rows<schema::HostRangeRow>(trace);
  ASSERT_THAT(ranges, SizeIs(2));
  EXPECT_EQ(ranges[0].duration_ns, 100);
  EXPECT_EQ(ranges[1].duration_ns, 2700);
}

// The row of a range comes with the flush, its details at once.
TEST_F(RowHoldTest, ADetailMayComeBeforeItsRange) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  wire::Record record = range_begin(process_.text("work"), 2100, kNvtx);
  record.range_begin.has = wire::kHasColor;
  ring.push(record);
  ring.push(range_end(2200, kNvtx));
  drain_.pass();
  output_->decide(2900);
  drain_.flush();
  output_->decide(2900);
  const schema::TraceReader trace = read();
  EXPECT_THAT(rows<schema::HostRangeRow>(trace), SizeIs(1));
  EXPECT_THAT(rows<schema::RangeDetailRow>(trace), SizeIs(1));
}

TEST_F(RowHoldTest, CaptureRowsSayWhatIsKept) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  for (const uint64_t time : {1500, 2500}) {
    wire::Record record{};
    record.kind = wire::Kind::kDetail;
    record.slots = 1;
    record.ticks = time;
    record.detail = {.state = 2, .detail = 1, .sources = 0xff, .cause = 1};
    ring.push(record);
  }
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto captures = rows<schema::CaptureRow>(trace);
  ASSERT_THAT(captures, SizeIs(2));
  EXPECT_EQ(captures[0].state, schema::CaptureState::kArmed);
  EXPECT_EQ(captures[1].state, schema::CaptureState::kRecording);
}

// After a pause, ends without a beginning are expected.
TEST_F(DrainTest, AfterAPauseEndsWithoutABeginningAreNoLoss) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  drain_.resume();
  ring.push(range_end(1000, kNvtx));
  ring.push(collective_edge(wire::Kind::kCollectiveEnd, 0, 1100, 42));
  drain_.pass();
  EXPECT_THAT(rows<schema::LossRow>(read()), SizeIs(0));
}

// No step spans an unrecorded time.
TEST_F(DrainTest, AStepDoesNotSpanAPause) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  const uint32_t optimizer = process_.text("Optimizer.step#SGD.step");
  const auto step = [&](uint64_t at) {
    ring.push(range_begin(optimizer, at, 1));
    ring.push(range_end(at + 10, 1));
  };
  step(1000);
  step(2000);
  drain_.pass();
  drain_.resume();
  step(9000);
  step(9500);
  drain_.pass();
  const auto steps = rows<schema::StepRow>(read());
  ASSERT_THAT(steps, SizeIs(2));
  EXPECT_EQ(steps[0].start_ns, 1010);
  EXPECT_EQ(steps[1].start_ns, 9010);
  EXPECT_EQ(steps[1].end_ns, 9510);
}

}  // namespace
}  // namespace dprof::recorder
