// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/gpu_rows.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <optional>

#include "collector/recorder/test_support/drain_fixture.h"
#include "collector/recorder/test_support/records.h"
#include "collector/wire/gpu_records.h"

namespace dprof::recorder {
namespace {

using schema::GpuActivityKind;
using schema::GpuActivityRow;
using schema::HostRangeRow;
using schema::RangeCategory;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::Kind;

constexpr uint32_t kHelper = 200;  // writes what CUPTI delivers
constexpr uint32_t kHost = ~uint32_t{0};

class GpuRowsTest : public DrainTest {
 protected:
  void kernel(int64_t start_ns, int64_t end_ns, uint32_t stream = 7, uint32_t correlation = 0,
              uint8_t flags = 0) {
    wire::GpuActivity body = kernel_of(start_ns, end_ns, stream, correlation);
    body.flags = flags;
    ring_.push(record_of(Kind::kGpuActivity, gemm_, now_, body));
  }
  void call(int64_t start_ns, int64_t end_ns, uint32_t os_tid, uint32_t correlation) {
    wire::ApiCall body{};
    body.start_ns = start_ns;
    body.end_ns = end_ns;
    body.os_tid = os_tid;
    body.correlation = correlation;
    ring_.push(record_of(Kind::kApiCall, launch_, now_, body));
  }
  void event(wire::GpuEventKind kind, int64_t time_ns, uint64_t id, uint32_t stream) {
    wire::GpuEvent body{};
    body.time_ns = time_ns;
    body.event = id;
    body.stream = stream;
    body.kind = kind;
    body.correlation = 5;
    ring_.push(record_of(Kind::kGpuEvent, 0, now_, body));
  }
  void gpu_flush(uint64_t ticks, uint64_t cost_ns = 0) {
    now_ = ticks;
    wire::GpuFlush flush{};
    flush.cost_ns = cost_ns;
    ring_.push(record_of(Kind::kGpuFlush, 0, ticks, flush));
  }
  int64_t lost(schema::LossReason reason) {
    int64_t count = 0;
    for (const schema::LossRow& row : rows<schema::LossRow>(*trace_)) {
      if (row.reason == reason) count += row.count;
    }
    return count;
  }
  void end() {
    drain_.pass();
    trace_.emplace(read());
  }

  uint64_t now_ = 1'000'000;
  wire::RingWriter ring_ = process_.open_ring(0, kHelper);
  uint32_t gemm_ = process_.text("gemm");
  uint32_t launch_ = process_.text("cudaLaunchKernel");
  std::optional<schema::TraceReader> trace_;
};

TEST_F(GpuRowsTest, ActivitiesStandInOrderOfStartWhateverOrderTheyCameIn) {
  const int64_t starts[] = {500, 100, 900, 300, 700};
  for (const int64_t start : starts)
    kernel(start, start + 50, 7 + static_cast<uint32_t>(start) % 3, 11);
  end();
  const auto all = rows<GpuActivityRow>(*trace_);
  ASSERT_THAT(all, SizeIs(5));
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].start_ns, static_cast<int64_t>(100 + 200 * i));
    EXPECT_EQ(all[i].duration_ns, 50);
    EXPECT_EQ(all[i].correlation, 11);
    EXPECT_EQ(all[i].bytes, std::nullopt) << "a kernel moves nothing that is known";
    EXPECT_EQ(all[i].graph_node, std::nullopt);
    EXPECT_EQ(trace_->string(all[i].name_id), "gemm");
  }
  EXPECT_THAT(rows<schema::StreamRow>(*trace_), SizeIs(3));
  EXPECT_THAT(rows<schema::DeviceRow>(*trace_), SizeIs(1)) << "never described, but used";
  EXPECT_THAT(rows<schema::LossRow>(*trace_), IsEmpty());
}

TEST_F(GpuRowsTest, ARowWaitsForTheFlushAfterTheNext) {
  kernel(2'000'000, 2'000'100);
  now_ = 3'000'000;
  gpu_flush(4'000'000);
  drain_.pass();
  drain_.flush();
  const auto written = [&] {
    const auto live = schema::TraceReader::open(folder_.path() / "trace.dprof");
    return rows<GpuActivityRow>(*live).size();
  };
  EXPECT_EQ(written(), 0u) << "an earlier one may still be running";
  kernel(1'000'000, 3'900'000);
  kernel(4'100'000, 4'200'000);
  gpu_flush(5'000'000, 700);
  drain_.pass();
  drain_.flush();
  EXPECT_EQ(written(), 2u);
  gpu_flush(5'000'000, 500);
  gpu_flush(5'000'000, ~uint64_t{0});  // no time that a flush takes
  end();
  const auto all = rows<GpuActivityRow>(*trace_);
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].start_ns, 1'000'000);
  EXPECT_EQ(all[2].start_ns, 4'100'000);
  EXPECT_EQ(trace_->meta("last_gpu_flush_ns"), "5000000");
  EXPECT_EQ(trace_->meta("gpu_flushes"), "3");
  EXPECT_EQ(trace_->meta("gpu_flush_ns"), "1200");
  EXPECT_EQ(trace_->meta("gpu_flush_longest_ns"), "700");
  EXPECT_THAT(rows<schema::DiagnosticRow>(*trace_), IsEmpty());
}

TEST_F(GpuRowsTest, WhatComesTooLateIsKeptAndCounted) {
  kernel(2'000'000, 2'000'100);
  gpu_flush(4'000'000);
  gpu_flush(5'000'000);
  drain_.pass();
  drain_.flush();
  kernel(1'900'000, 4'950'000);
  end();
  EXPECT_THAT(rows<GpuActivityRow>(*trace_), SizeIs(2));
  const auto remarks = rows<schema::DiagnosticRow>(*trace_);
  ASSERT_THAT(remarks, SizeIs(1));
  EXPECT_EQ(remarks[0].code, "late_gpu_rows");
  EXPECT_EQ(remarks[0].count, 1);
}

TEST_F(GpuRowsTest, MoreThanCanWaitIsWrittenEarly) {
  constexpr size_t kRounds = 21, kInARound = 15'000;  // less than the ring holds
  for (size_t round = 0; round < kRounds; ++round) {
    for (int64_t i = 0; i < int64_t{kInARound}; ++i) {
      const auto at = static_cast<int64_t>(round * kInARound) + i;
      kernel(at, at + 1);
    }
    drain_.pass();
  }
  drain_.flush();
  const auto live = schema::TraceReader::open(folder_.path() / "trace.dprof");
  const size_t early = rows<GpuActivityRow>(*live).size();
  EXPECT_GE(early, kRounds * kInARound - GpuRows::kMostHeld);
  EXPECT_LT(early, kRounds * kInARound);
  end();
  const auto all = rows<GpuActivityRow>(*trace_);
  EXPECT_THAT(all, SizeIs(kRounds * kInARound));
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &GpuActivityRow::start_ns));
}

TEST_F(GpuRowsTest, CallsStandOnTheThreadThatMadeThem) {
  wire::RingWriter main = process_.open_ring(1, kPid);
  main.push(range_begin(process_.text("step"), 100, 1));
  call(700, 750, kPid, 2);
  call(300, 350, kPid, 1);
  call(400, 450, 4711, 3);
  wire::CuptiOverhead overhead{};
  overhead.start_ns = 500;
  overhead.end_ns = 600;
  ring_.push(record_of(Kind::kCuptiOverhead, process_.text("buffer full"), now_, overhead));
  end();
  const auto all = rows<HostRangeRow>(*trace_);
  ASSERT_THAT(all, SizeIs(5));
  std::map<int64_t, int64_t> os_tid;
  for (const auto& thread : rows<schema::ThreadRow>(*trace_)) os_tid[thread.id] = thread.os_tid;
  EXPECT_EQ(all[1].start_ns, 300);
  EXPECT_EQ(all[1].correlation, 1);
  EXPECT_EQ(all[1].category, RangeCategory::kApi);
  EXPECT_EQ(os_tid[all[1].thread_id], kPid);
  EXPECT_EQ(all[1].thread_id, all[0].thread_id) << "the thread of the step";
  EXPECT_EQ(os_tid[all[2].thread_id], 4711) << "one that recorded nothing else";
  EXPECT_EQ(all[3].category, RangeCategory::kOverhead);
  EXPECT_EQ(all[3].correlation, std::nullopt);
  EXPECT_EQ(os_tid[all[3].thread_id], kHelper) << "nobody's: the thread that wrote it";
  EXPECT_EQ(all[4].start_ns, 700);
}

TEST_F(GpuRowsTest, ARecordWithoutTimeIsWhereItWasDelivered) {
  kernel(0, 0, 7, 1, wire::gpu_flag::kNoTimestamp);
  end();
  const auto all = rows<GpuActivityRow>(*trace_);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].start_ns, 1'000'000);
  EXPECT_EQ(all[0].duration_ns, std::nullopt);
  const auto remarks = rows<schema::DiagnosticRow>(*trace_);
  ASSERT_THAT(remarks, SizeIs(1));
  EXPECT_EQ(remarks[0].code, "gpu_without_time");
}

TEST_F(GpuRowsTest, WhatMakesNoSenseIsLeftOutAndCounted) {
  constexpr int64_t kFar = int64_t{10} * kNsPerSecond;
  kernel(-kFar, 100);  // before the recorder's start
  kernel(100, kFar);   // not over when it was written
  kernel(200, 100);    // ends before it begins
  kernel(INT64_MIN, INT64_MAX);
  call(100, 200, 0, 1);  // of no thread
  event(wire::GpuEventKind{9}, 100, 1, 7);
  event(wire::GpuEventKind::kStreamWait, 100, 1, kHost);
  wire::GpuActivity body{};
  body.kind = 200;
  ring_.push(record_of(Kind::kGpuActivity, gemm_, now_, body));
  body.kind = 1;
  body.bytes = UINT64_MAX;
  ring_.push(record_of(Kind::kGpuActivity, gemm_, now_, body));
  body.bytes = 1;
  body.device = 60000;
  ring_.push(record_of(Kind::kGpuActivity, gemm_, now_, body));
  ring_.push(record_of(Kind::kExternalCorrelation, 0, now_, wire::ExternalCorrelation{}));
  ring_.push(record_of(Kind::kDevice, 0, now_, wire::Device{.device = UINT32_MAX}));
  ring_.push(record_of(Kind{17}, 0, now_, wire::GpuFlush{}));
  ring_.push(record_of(Kind{19}, 0, now_, wire::GpuFlush{}));
  end();
  EXPECT_THAT(rows<GpuActivityRow>(*trace_), IsEmpty());
  EXPECT_THAT(rows<HostRangeRow>(*trace_), IsEmpty());
  EXPECT_THAT(rows<schema::GpuDependencyRow>(*trace_), IsEmpty());
  EXPECT_EQ(lost(schema::LossReason::kBadRecord), 14);
}

TEST_F(GpuRowsTest, AWaitBelongsToTheLastRecordingBeforeIt) {
  event(wire::GpuEventKind::kStreamWait, 250, 1, 8);
  event(wire::GpuEventKind::kRecord, 200, 1, 7);
  event(wire::GpuEventKind::kStreamWait, 450, 1, 8);
  event(wire::GpuEventKind::kRecord, 400, 1, 9);
  event(wire::GpuEventKind::kRecord, 100, 1, 6);
  event(wire::GpuEventKind::kSynchronize, 500, 1, kHost);
  event(wire::GpuEventKind::kStreamWait, 600, 2, 8);   // its recording was not seen
  event(wire::GpuEventKind::kSynchronize, 700, 0, 7);  // a whole stream
  end();
  const auto all = rows<schema::GpuDependencyRow>(*trace_);
  ASSERT_THAT(all, SizeIs(5));
  std::map<int64_t, int64_t> cuda_stream;
  for (const auto& s : rows<schema::StreamRow>(*trace_)) cuda_stream[s.id] = s.cuda_stream;
  EXPECT_EQ(all[0].record_ns, 200);
  EXPECT_EQ(cuda_stream[all[0].record_stream_id.value_or(0)], 7);
  EXPECT_EQ(cuda_stream[all[0].wait_stream_id.value_or(0)], 8);
  EXPECT_EQ(all[0].wait_ns, 250);
  EXPECT_EQ(all[0].correlation, 5);
  EXPECT_EQ(all[1].record_ns, 400);
  EXPECT_EQ(all[2].wait_stream_id, std::nullopt) << "the host waited";
  EXPECT_EQ(all[2].record_ns, 400);
  EXPECT_EQ(all[3].record_ns, std::nullopt);
  EXPECT_EQ(all[3].event, 2);
  EXPECT_EQ(cuda_stream[all[4].record_stream_id.value_or(0)], 7);
  EXPECT_EQ(all[4].record_ns, std::nullopt);
}

TEST_F(GpuRowsTest, DevicesStreamsAndShapes) {
  wire::Device device{.device = 1, .compute_capability = 900, .memory_bytes = 150};
  for (size_t i = 0; i < sizeof device.uuid; ++i) {
    device.uuid[i] = static_cast<unsigned char>(16 * (i % 10) + i);
  }
  wire::GpuActivity body{};
  body.start_ns = 100;
  body.end_ns = 200;
  body.device = 1;
  body.stream = 7;
  body.graph = 3;
  body.graph_node = 4;
  wire::KernelShape shape{{1, 2, 3}, {4, 5, 6}, 7, 8, 9, {}};
  ring_.push(record_of(Kind::kGpuActivity, gemm_, now_, body), &shape, sizeof shape);
  body.kind = 1;
  body.start_ns = 300;
  body.end_ns = 300;
  body.bytes = 4096;
  ring_.push(record_of(Kind::kGpuActivity, gemm_, now_, body));
  ring_.push(record_of(Kind::kDevice, process_.text("H200"), now_, device));
  ring_.push(record_of(Kind::kStreamName, process_.text("nccl"), now_,
                       wire::StreamName{.device = 1, .stream = 7}));
  end();
  const auto devices = rows<schema::DeviceRow>(*trace_);
  ASSERT_THAT(devices, SizeIs(1));
  EXPECT_EQ(devices[0].id, 1);
  EXPECT_EQ(devices[0].uuid, "GPU-00112233-4455-6677-8899-0a1b2c3d4e5f");
  EXPECT_EQ(devices[0].compute_capability, 900);
  EXPECT_EQ(trace_->string(devices[0].name_id.value_or(0)), "H200");
  const auto streams = rows<schema::StreamRow>(*trace_);
  ASSERT_THAT(streams, SizeIs(1));
  EXPECT_EQ(trace_->string(streams[0].name_id.value_or(0)), "nccl");
  const auto all = rows<GpuActivityRow>(*trace_);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].graph, 3);
  EXPECT_EQ(all[0].graph_node, 4);
  EXPECT_EQ(all[1].kind, GpuActivityKind::kMemcpyH2d);
  EXPECT_EQ(all[1].bytes, 4096);
  EXPECT_EQ(all[1].duration_ns, 0);
  const auto shapes = rows<schema::KernelShapeRow>(*trace_);
  ASSERT_THAT(shapes, SizeIs(1));
  EXPECT_EQ(shapes[0].activity_id, all[0].id);
  EXPECT_EQ(shapes[0].grid_z, 3);
  EXPECT_EQ(shapes[0].block_x, 4);
  EXPECT_EQ(shapes[0].registers, 7);
  EXPECT_EQ(shapes[0].dynamic_shared_bytes, 9);
}

TEST_F(GpuRowsTest, StreamsAndThreadsAreBounded) {
  uint32_t next = 1;
  for (int round = 0; round < 70; ++round) {
    for (int i = 0; i < 2000; ++i) {
      kernel(100, 200, next);
      call(100, 200, next, 1);
      ++next;
    }
    drain_.pass();
  }
  end();
  EXPECT_EQ(rows<schema::StreamRow>(*trace_).size(), GpuPlaces::kMostStreams);
  EXPECT_EQ(rows<GpuActivityRow>(*trace_).size(), GpuPlaces::kMostStreams);
  EXPECT_EQ(lost(schema::LossReason::kBadRecord),
            static_cast<int64_t>(next - 1 - GpuPlaces::kMostStreams));
  EXPECT_LT(rows<schema::ThreadRow>(*trace_).size(), 17000u);
  EXPECT_EQ(rows<HostRangeRow>(*trace_).size(), next - 1);
}

// CUPTI's own clock, used if it accepted no timestamp callback.
TEST(GpuRowsClockTest, RealtimeBecomesTheTracesTime) {
  const test_support::TemporaryFolder folder;
  const RunClock clock = RunClock::start();
  FakeProcess process(clock.scale());
  const std::unique_ptr<TraceOutput> output = *TraceOutput::create(folder.path() / "t.dprof");
  Drain drain(process.mapping(), clock, 100, *output);
  wire::RingWriter ring = process.open_ring(0, 100);
  const ClockReading now = clock.read();
  wire::GpuActivity body{};
  body.start_ns = now.realtime_ns;
  body.end_ns = now.realtime_ns + 1000;
  body.flags = wire::gpu_flag::kRealtimeBase;
  ring.push(record_of(Kind::kGpuActivity, process.text("gemm"), clock.now_ticks(), body));
  drain.pass();
  drain.finish(false);
  ASSERT_TRUE(output->finish().ok());
  const auto trace = schema::TraceReader::open(folder.path() / "t.dprof");
  const auto all = *trace->read_all<GpuActivityRow>();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_NEAR(static_cast<double>(all[0].start_ns),
              static_cast<double>(clock.to_host(now.ticks).ns), 5e8);
  EXPECT_EQ(all[0].duration_ns, 1000);
}

}  // namespace
}  // namespace dprof::recorder
