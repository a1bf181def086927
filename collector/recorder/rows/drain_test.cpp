// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/drain.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstring>

#include "collector/recorder/test_support/drain_fixture.h"
#include "collector/recorder/test_support/file_size_limit.h"
#include "collector/wire/enum_values.h"

namespace dprof::recorder {
namespace {
using schema::LossReason;
using schema::RangeCategory;
using schema::ThreadRole;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using wire::range_category::kAutograd;
using wire::range_category::kNvtx;
using wire::range_category::kNvtxMark;
using wire::range_category::kNvtxProcess;
using wire::range_category::kOp;
using wire::range_category::kUser;

TEST_F(DrainTest, RangesNestPerThreadAndStandInStartOrder) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  const uint32_t outer = process_.text("outer");
  const uint32_t inner = process_.text("inner");
  wire::Record begin = range_begin(outer, 1000, kOp);
  begin.range_begin.sequence = 7;
  ring.push(begin);
  ring.push(range_begin(inner, 2000, kOp));
  ring.push(range_end(2500, kOp));
  ring.push(range_end(3000, kOp));
  EXPECT_EQ(drain_.pass(), 4u);

  const schema::TraceReader trace = read();
  const auto ranges = rows<schema::HostRangeRow>(trace);
  ASSERT_THAT(ranges, SizeIs(2));
  EXPECT_EQ(trace.string(ranges[0].name_id), "outer");
  EXPECT_EQ(ranges[0].start_ns, 1000);
  EXPECT_EQ(ranges[0].duration_ns, 2000);
  EXPECT_EQ(ranges[0].sequence, 7);
  EXPECT_EQ(trace.string(ranges[1].name_id), "inner");
  EXPECT_EQ(ranges[1].duration_ns, 500);
  EXPECT_EQ(ranges[1].sequence, std::nullopt);
  EXPECT_THAT(rows<schema::LossRow>(trace), SizeIs(0));
  const auto threads = rows<schema::ThreadRow>(trace);
  ASSERT_THAT(threads, SizeIs(1));
  EXPECT_EQ(threads[0].os_tid, kPid);
  EXPECT_EQ(threads[0].role, ThreadRole::kMain);
}

TEST_F(DrainTest, CategoriesAndDomainsNestApart) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  const uint32_t domain = process_.text("NCCL");
  ring.push(range_begin(process_.text("nvtx"), 1000, kNvtx));
  wire::Record in_domain = range_begin(process_.text("in domain"), 1100, kNvtx);
  in_domain.range_begin.domain = domain;
  ring.push(in_domain);
  ring.push(range_begin(process_.text("op"), 1200, kOp));
  ring.push(range_end(1300, kNvtx));
  ring.push(range_end(1400, kOp));
  wire::Record domain_end = range_end(1500, kNvtx);
  domain_end.range_end.domain = domain;
  ring.push(domain_end);
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto ranges = rows<schema::HostRangeRow>(trace);
  ASSERT_THAT(ranges, SizeIs(3));
  EXPECT_EQ(ranges[0].duration_ns, 300);
  EXPECT_EQ(ranges[1].duration_ns, 400);
  EXPECT_EQ(ranges[2].duration_ns, 200);
  const auto details = rows<schema::RangeDetailRow>(trace);
  ASSERT_THAT(details, SizeIs(1));
  EXPECT_EQ(details[0].range_id, ranges[1].id);
  EXPECT_EQ(trace.string(details[0].domain_id.value_or(0)), "NCCL");
}

TEST_F(DrainTest, ALongRangeHoldsNothingBack) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  ring.push(range_begin(process_.text("long"), 1000, kUser));
  ring.push(range_begin(process_.text("short"), 1100, kUser));
  ring.push(range_end(1200, kUser));
  drain_.pass();
  drain_.flush();
  {
    const Result<schema::TraceReader> live =
        schema::TraceReader::open(folder_.path() / "trace.dprof");
    ASSERT_TRUE(live.ok()) << live.error().what;
    const auto ranges = rows<schema::HostRangeRow>(*live);
    ASSERT_THAT(ranges, SizeIs(2));
    EXPECT_EQ(ranges[0].duration_ns, std::nullopt) << "open";
    EXPECT_EQ(ranges[1].duration_ns, 100);
  }
  ring.push(range_end(9000, kUser));
  drain_.pass();
  const schema::TraceReader trace = read();
  EXPECT_EQ(rows<schema::HostRangeRow>(trace)[0].duration_ns, 8000);
}

TEST_F(DrainTest, WhatIsOpenAtTheEndStaysOpen) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  ring.push(range_begin(process_.text("open"), 1000, kUser));
  const schema::TraceReader trace = read(true);
  EXPECT_EQ(rows<schema::HostRangeRow>(trace)[0].duration_ns, std::nullopt);
}

// The end is in an earlier ring, so it is read first.
TEST_F(DrainTest, KeyedRangesEndOnAnotherThread) {
  wire::RingWriter first = process_.open_ring(0, kPid);
  wire::RingWriter second = process_.open_ring(1, kPid + 1);
  second.push(range_begin(process_.text("a"), 1000, kNvtxProcess, 77));
  first.push(range_end(1500, kNvtxProcess, 77));
  second.push(range_begin(process_.text("b"), 2000, kNvtxProcess, 77));
  first.push(range_end(2600, kNvtxProcess, 77));
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto ranges = rows<schema::HostRangeRow>(trace);
  ASSERT_THAT(ranges, SizeIs(2));
  EXPECT_EQ(ranges[0].duration_ns, 500);
  EXPECT_EQ(ranges[1].duration_ns, 600);
  EXPECT_THAT(rows<schema::LossRow>(trace), SizeIs(0));
}

TEST_F(DrainTest, KeepsWhatNvtxRangesCarry) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  wire::Record mark = range_begin(process_.text("mark"), 1000, kNvtxMark);
  mark.range_begin.has = wire::kHasColor | wire::kHasNvtxCategory;
  mark.range_begin.color = 0xFF00FF00;
  mark.range_begin.nvtx_category = 5;
  mark.range_begin.payload_kind = static_cast<uint8_t>(schema::PayloadKind::kInt32);
  mark.range_begin.payload = 42;
  ring.push(mark);

  wire::Record with_schema = range_begin(process_.text("ncclAllReduce"), 2000, kNvtx);
  with_schema.range_begin.payload_kind = static_cast<uint8_t>(schema::PayloadKind::kSchema);
  with_schema.range_begin.schema_id = 16777221;
  with_schema.range_begin.payload = 24;
  const char bytes[24] = "abcdefghijklmnopqrstuvw";
  ring.push(with_schema, bytes, sizeof bytes);

  wire::Record end = range_end(2100, kNvtx);
  end.range_end.payload_kind = static_cast<uint8_t>(schema::PayloadKind::kSchema);
  end.range_end.schema_id = 16777216;
  end.range_end.payload = 4;
  end.range_end.has = wire::kPayloadCut;
  ring.push(end, "WXYZ", 4);
  drain_.pass();

  const schema::TraceReader trace = read();
  const auto ranges = rows<schema::HostRangeRow>(trace);
  ASSERT_THAT(ranges, SizeIs(2));
  EXPECT_EQ(ranges[0].category, RangeCategory::kNvtxMark);
  EXPECT_EQ(ranges[0].duration_ns, 0);
  const auto details = rows<schema::RangeDetailRow>(trace);
  ASSERT_THAT(details, SizeIs(3));
  EXPECT_EQ(details[0].color, 0xFF00FF00);
  EXPECT_EQ(details[0].nvtx_category, 5);
  EXPECT_EQ(details[0].payload, std::string("\x2a\0\0\0", 4));
  EXPECT_EQ(details[1].schema_id, 16777221);
  EXPECT_EQ(details[1].payload, std::string(bytes, sizeof bytes));
  EXPECT_EQ(details[2].range_id, ranges[1].id);
  EXPECT_EQ(details[2].payload, "WXYZ");
  const auto losses = rows<schema::LossRow>(trace);
  ASSERT_THAT(losses, SizeIs(1));
  EXPECT_EQ(losses[0].reason, LossReason::kTextCut);
}

TEST_F(DrainTest, KeepsSchemasNamesAndDetail) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  wire::Record entry{};
  entry.kind = wire::Kind::kSchemaEntry;
  entry.slots = 1;
  entry.string = process_.text("bytes");
  entry.ticks = 10;
  entry.schema_entry = {.schema_id = 16777221,
                        .type = 17,
                        .offset = 8,
                        .domain = process_.text("NCCL"),
                        .schema_name = process_.text("AllReduce"),
                        .index = 1,
                        .flags = 0,
                        .detail = 0};
  ring.push(entry);
  wire::Record name{};
  name.kind = wire::Kind::kThreadName;
  name.slots = 1;
  name.string = process_.text("trainer\xff");
  name.ticks = 11;
  ring.push(name);
  wire::Record detail{};
  detail.kind = wire::Kind::kDetail;
  detail.slots = 1;
  detail.ticks = 12;
  detail.detail = {.state = 2, .detail = 3};
  ring.push(detail);
  ring.push(range_begin(process_.text("x"), 20, kAutograd));
  ring.push(range_end(30, kAutograd));
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto entries = rows<schema::NvtxSchemaRow>(trace);
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(trace.string(entries[0].domain_id.value_or(0)), "NCCL");
  EXPECT_EQ(trace.string(entries[0].name_id.value_or(0)), "AllReduce");
  EXPECT_EQ(trace.string(entries[0].entry_name_id.value_or(0)), "bytes");
  EXPECT_EQ(entries[0].entry_index, 1);
  EXPECT_EQ(entries[0].entry_offset, 8);
  EXPECT_EQ(entries[0].entry_type, 17);
  const auto threads = rows<schema::ThreadRow>(trace);
  ASSERT_THAT(threads, SizeIs(1));
  EXPECT_EQ(trace.string(threads[0].name_id.value_or(0)), "trainer\xEF\xBF\xBD");
  EXPECT_EQ(threads[0].role, ThreadRole::kMain) << "autograd on the main thread is main";
  const auto captures = rows<schema::CaptureRow>(trace);
  ASSERT_THAT(captures, SizeIs(1));
  EXPECT_EQ(captures[0].time_ns, 12);
  EXPECT_EQ(captures[0].state, schema::CaptureState::kRecording);
  EXPECT_EQ(captures[0].detail, schema::DetailLevel::kFull);
}

TEST_F(DrainTest, CountsWhatMakesNoSense) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  const uint32_t name = process_.text("x");
  wire::Record unknown_kind = range_begin(name, 10, kOp);
  unknown_kind.kind = static_cast<wire::Kind>(999);
  ring.push(unknown_kind);
  ring.push(range_begin(name, 11, 200));           // no such category
  ring.push(range_begin(name, UINT64_MAX, kOp));   // in the future
  ring.push(collective_enqueue(name, 12, 1, 99));  // no such function
  ring.push(range_end(13, kOp));                   // nothing is open
  ring.push(range_end(14, kOp, 5));                // no such key
  ring.push(collective_edge(wire::Kind::kCollectiveEnd, 0, 15, 5));
  ring.push(range_begin(0x7fffffff, 16, kOp));  // a text outside the arena
  drain_.pass();
  const schema::TraceReader trace = read();
  int64_t bad = 0, unpaired = 0;
  for (const schema::LossRow& row : rows<schema::LossRow>(trace)) {
    if (row.reason == LossReason::kBadRecord) bad += row.count;
    if (row.reason == LossReason::kUnpairedEnd) unpaired += row.count;
  }
  EXPECT_EQ(bad, 5);
  EXPECT_EQ(unpaired, 3);
  EXPECT_EQ(drain_.totals().lost, 8);
  EXPECT_THAT(rows<schema::HostRangeRow>(trace), SizeIs(1));
}

TEST_F(DrainTest, AFullRingIsALossWithItsTimeSpan) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  const uint32_t name = process_.text("x");
  uint64_t ticks = 1000;
  while (ring.push(range_begin(name, ticks, kNvtxMark))) ++ticks;
  const uint64_t first_dropped = ticks;
  for (int i = 0; i < 9; ++i) ring.push(range_begin(name, ++ticks, kNvtxMark));
  drain_.pass();
  EXPECT_TRUE(ring.push(range_begin(name, ++ticks, kNvtxMark))) << "there is room again";
  const schema::TraceReader trace = read();
  const auto losses = rows<schema::LossRow>(trace);
  ASSERT_THAT(losses, SizeIs(1));
  EXPECT_EQ(losses[0].reason, LossReason::kRingFull);
  EXPECT_EQ(losses[0].count, 10);
  EXPECT_EQ(losses[0].first_ns, static_cast<int64_t>(first_dropped));
  EXPECT_EQ(losses[0].last_ns, static_cast<int64_t>(first_dropped + 9));
  EXPECT_EQ(losses[0].thread_id, rows<schema::ThreadRow>(trace)[0].id);
}

TEST_F(DrainTest, LossesOfNoRingAreKept) {
  wire::Header& header = *process_.mapping().header();
  wire::count_loss(header.losses[static_cast<uint32_t>(wire::SharedLoss::kNoRing)], 500);
  wire::count_loss(header.losses[static_cast<uint32_t>(wire::SharedLoss::kArenaFull)], 600);
  wire::count_loss(header.losses[static_cast<uint32_t>(wire::SharedLoss::kArenaFull)], 700);
  const schema::TraceReader trace = read();
  const auto losses = rows<schema::LossRow>(trace);
  ASSERT_THAT(losses, SizeIs(2));
  EXPECT_EQ(losses[0].reason, LossReason::kNoRing);
  EXPECT_EQ(losses[1].reason, LossReason::kArenaFull);
  EXPECT_EQ(losses[1].count, 2);
  EXPECT_EQ(losses[1].last_ns, 700);
}

TEST_F(DrainTest, ARingServesOneThreadAfterAnother) {
  const uint32_t name = process_.text("x");
  wire::RingWriter first = process_.open_ring(0, kPid + 1);
  first.push(range_begin(name, 10, kOp));
  process_.close_ring(0);
  drain_.pass();
  EXPECT_EQ(process_.mapping().ring(0)->status.load(),
            static_cast<uint32_t>(wire::RingStatus::kFree));
  wire::RingWriter second = process_.open_ring(0, kPid + 2);
  second.push(range_begin(name, 20, kAutograd));
  second.push(range_end(30, kAutograd));
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto threads = rows<schema::ThreadRow>(trace);
  ASSERT_THAT(threads, SizeIs(2));
  EXPECT_EQ(threads[1].os_tid, kPid + 2);
  EXPECT_EQ(threads[1].role, ThreadRole::kAutograd);
  const auto ranges = rows<schema::HostRangeRow>(trace);
  EXPECT_EQ(ranges[0].duration_ns, std::nullopt) << "its thread is gone";
  EXPECT_EQ(ranges[1].duration_ns, 10);
}

TEST_F(DrainTest, ADamagedRingCostsItsRecordsOnly) {
  const uint32_t name = process_.text("x");
  wire::RingWriter good = process_.open_ring(0, kPid);
  process_.open_ring(1, kPid + 1);
  process_.mapping().ring(1)->head.store(uint64_t{1} << 60);
  good.push(range_begin(name, 10, kNvtxMark));
  drain_.pass();
  const schema::TraceReader trace = read();
  EXPECT_THAT(rows<schema::HostRangeRow>(trace), SizeIs(1));
  const auto diagnostics = rows<schema::DiagnosticRow>(trace);
  ASSERT_THAT(diagnostics, SizeIs(1));
  EXPECT_EQ(diagnostics[0].code, "damaged_ring");
  EXPECT_GT(drain_.totals().lost, 0);
}

TEST_F(DrainTest, RangesWithoutEndsDoNotFillTheMemory) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  const uint32_t name = process_.text("x");
  for (uint64_t i = 0; i < 4 * RangeTable::kMaxOpenPerThread; ++i) {
    ring.push(range_begin(name, 10 + i, kOp));
    drain_.pass();
  }
  ring.push(range_end(1'000'000, kOp));
  drain_.pass();
  const schema::TraceReader trace = read();
  const auto ranges = rows<schema::HostRangeRow>(trace);
  ASSERT_THAT(ranges, SizeIs(4 * RangeTable::kMaxOpenPerThread));
  EXPECT_TRUE(ranges.back().duration_ns.has_value());
}

// --- steps ---

TEST_F(DrainTest, MarkersMakeStepsAndTheLastMayBeOpen) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  const uint32_t step = process_.text("step");
  const uint32_t optimizer = process_.text("Optimizer.step#SGD.step");
  for (uint64_t i = 0; i < 3; ++i) {
    ring.push(range_begin(step, 1000 * i + 10, kNvtx));
    ring.push(range_begin(step, 1000 * i + 20, kUser));  // marked twice: the outer one counts
    ring.push(range_begin(optimizer, 1000 * i + 500, kUser));
    ring.push(range_end(1000 * i + 600, kUser));
    ring.push(range_end(1000 * i + 700, kUser));
    if (i < 2) ring.push(range_end(1000 * i + 900, kNvtx));
  }
  drain_.pass();
  const schema::TraceReader trace = read(true);
  const auto steps = rows<schema::StepRow>(trace);
  ASSERT_THAT(steps, SizeIs(3));
  EXPECT_EQ(steps[1], (schema::StepRow{1, 1010, 1900, schema::StepSource::kMarker}));
  EXPECT_EQ(steps[2], (schema::StepRow{2, 2010, std::nullopt, schema::StepSource::kMarker}));
}

TEST_F(DrainTest, OptimizerEndsMakeStepsWhereNothingIsMarked) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  const uint32_t optimizer = process_.text("Optimizer.step#Adam.step");
  for (uint64_t i = 0; i < 3; ++i) {
    ring.push(range_begin(optimizer, 1000 * i + 500, kUser));
    ring.push(range_end(1000 * i + 600, kUser));
  }
  drain_.pass();
  const schema::TraceReader trace = read();
  EXPECT_THAT(rows<schema::StepRow>(trace),
              ElementsAre(schema::StepRow{0, 600, 1600, schema::StepSource::kOptimizer},
                          schema::StepRow{1, 1600, 2600, schema::StepSource::kOptimizer}));
}

TEST_F(DrainTest, AKilledProcessHasAnOpenOptimizerStep) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  ring.push(range_begin(process_.text("optimizer"), 500, kNvtx));
  ring.push(range_end(600, kNvtx));
  drain_.pass();
  const schema::TraceReader trace = read(true);
  EXPECT_THAT(rows<schema::StepRow>(trace),
              ElementsAre(schema::StepRow{0, 600, std::nullopt, schema::StepSource::kOptimizer}));
}

// A wild pointer moves the head back; the next push corrects it.
TEST_F(DrainTest, WhatWasReadIsNotReadAgainWhenAHeadGoesBack) {
  wire::RingWriter ring = process_.open_ring(0, kPid);
  const uint32_t name = process_.text("work");
  const auto push_ranges = [&](uint64_t from) {
    for (uint64_t i = 0; i < 100; ++i) {
      ring.push(range_begin(name, from + 10 * i, kNvtx));
      ring.push(range_end(from + 10 * i + 5, kNvtx));
    }
  };
  push_ranges(1'000);
  EXPECT_EQ(drain_.pass(), 200u);
  process_.mapping().ring(0)->head.store(120);
  EXPECT_EQ(drain_.pass(), 0u);
  push_ranges(10'000);
  EXPECT_EQ(drain_.pass(), 200u);
  const schema::TraceReader trace = read();
  EXPECT_THAT(rows<schema::HostRangeRow>(trace), SizeIs(200));
  EXPECT_EQ(rows<schema::DiagnosticRow>(trace).at(0).code, "damaged_ring");
}

// A program that starts a thread for each task, for days.
TEST_F(DrainTest, MoreThreadsThanATraceNamesShareARow) {
  constexpr uint32_t kThreads = 16384 + 20;
  const uint32_t name = process_.text("work");
  for (uint32_t i = 0; i < kThreads; ++i) {
    wire::RingWriter ring = process_.open_ring(i % 2, kPid + i);
    ring.push(range_begin(name, 1'000 + i, kNvtx));
    ring.push(range_end(1'500 + i, kNvtx));
    process_.close_ring(i % 2);
    ASSERT_EQ(drain_.pass(), 2u);
  }
  const schema::TraceReader trace = read();
  EXPECT_EQ(*trace.count("host_range"), kThreads);
  EXPECT_THAT(*trace.read_all<schema::HostRangeRow>("duration_ns IS NULL OR duration_ns != 500"),
              SizeIs(0));
  EXPECT_EQ(*trace.count("thread"), 16384 + 1);
  EXPECT_THAT(*trace.read_all<schema::HostRangeRow>("thread_id = 16385"), SizeIs(20));
  EXPECT_EQ(rows<schema::DiagnosticRow>(trace).at(0).code, "many_threads");
  EXPECT_EQ(rows<schema::DiagnosticRow>(trace).at(0).count, 20);
}

// The recorder is stopped within a pass, or the disk is slow in it.
TEST_F(DrainTest, WhatComesDuringAStoppedPassIsNoFuture) {
  wire::RingWriter first = process_.open_ring(0, kPid);
  wire::RingWriter second = process_.open_ring(1, kPid + 1);
  const uint32_t mark = process_.text("mark");
  drain_.watch_steps([&](const StepEdge&) {
    usleep(1'200'000);
    second.push(range_begin(mark, clock_.now_ticks(), kNvtxMark));
  });
  first.push(range_begin(process_.text("Optimizer.step#SGD.step"), 1000, kUser));
  first.push(range_end(2000, kUser));
  drain_.pass();
  drain_.watch_steps({});
  const schema::TraceReader trace = read();
  EXPECT_THAT(rows<schema::HostRangeRow>(trace), SizeIs(2));
  EXPECT_THAT(rows<schema::LossRow>(trace), SizeIs(0));
}

// The disk is full when the process ends, and its loss counts are known only then.
TEST_F(DrainTest, WhatAProcessLosesThatEndsInAGapIsCounted) {
  constexpr uint64_t kProduced = 3 * wire::kRingSlots;
  wire::RingWriter ring = process_.open_ring(0, kPid);
  const uint32_t mark = process_.text("mark");
  const auto flood = [&](uint64_t records) {
    for (uint64_t i = 0; i < records; ++i) ring.push(range_begin(mark, 1000 + i, kNvtxMark));
  };
  flood(10);
  drain_.pass();
  drain_.flush();
  {
    const FileSizeLimit limit(1);
    flood(10);
    drain_.pass();
    drain_.flush();
    ASSERT_TRUE(output_->in_gap());
    flood(kProduced - 20);
    drain_.finish(false);
    ASSERT_TRUE(output_->in_gap());
  }
  ASSERT_TRUE(output_->end_gap());
  ASSERT_TRUE(output_->finish().ok());
  const auto trace = *schema::TraceReader::open(folder_.path() / "trace.dprof");
  int64_t dropped = 0;
  int64_t unwritten = 0;
  for (const schema::LossRow& loss : rows<schema::LossRow>(trace)) {
    (loss.reason == LossReason::kRingFull ? dropped : unwritten) += loss.count;
  }
  EXPECT_GT(dropped, int64_t{wire::kRingSlots});
  EXPECT_EQ(static_cast<uint64_t>(*trace.count("host_range") + unwritten + dropped), kProduced);
}

}  // namespace
}  // namespace dprof::recorder
