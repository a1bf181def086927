// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/control/flight.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/time.h"
#include "schema/trace_reader.h"
#include "tests/support/temporary_folder.h"

namespace dprof::recorder {
namespace {

using schema::HostRangeRow;
using ::testing::SizeIs;

constexpr int64_t kMs = 1'000'000;

class FlightTest : public ::testing::Test {
 protected:
  FlightTest() : output_(*TraceOutput::create(path_)) {
    output_->append(schema::ThreadRow{.id = 1, .os_tid = 7});
  }

  // One range per millisecond.
  void record_until(FlightRecorder& flight, int64_t end_ns) {
    for (; time_ns_ < end_ns; time_ns_ += kMs) {
      output_->append(HostRangeRow{.id = ++last_id_,
                                   .thread_id = 1,
                                   .start_ns = time_ns_,
                                   .duration_ns = kMs / 2,
                                   .name_id = output_->intern(fmt::format("n{}", last_id_ % 10))});
      output_->append(schema::RangeDetailRow{.range_id = last_id_, .color = 3});
      if (time_ns_ % (200 * kMs) != 0) continue;
      flight.on_time(time_ns_);
      output_->commit();
    }
  }
  std::vector<HostRangeRow> finish() {
    EXPECT_TRUE(output_->finish().ok());
    trace_.emplace(*schema::TraceReader::open(path_));
    return *trace_->read_all<HostRangeRow>();
  }

  test_support::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "trace.dprof";
  std::unique_ptr<TraceOutput> output_;
  std::optional<schema::TraceReader> trace_;
  int64_t time_ns_ = 0;
  int64_t last_id_ = 0;
};

TEST_F(FlightTest, TheLastSecondsAreLeftWhole) {
  FlightRecorder flight(2 * kNsPerSecond, *output_);
  record_until(flight, 20 * kNsPerSecond);
  flight.finish(20 * kNsPerSecond, false);
  const std::vector<HostRangeRow> rows = finish();
  ASSERT_THAT(rows, SizeIs(2000));
  EXPECT_EQ(rows.front().start_ns, 18 * kNsPerSecond);
  EXPECT_EQ(*trace_->count("range_detail"), 2000);
  EXPECT_EQ(trace_->string(rows[0].name_id), fmt::format("n{}", rows[0].id % 10));
  EXPECT_EQ(*trace_->count("thread"), 1);
  EXPECT_EQ(output_->left_out(), 18000);
  ASSERT_THAT(flight.spans(), SizeIs(1));
  EXPECT_EQ(flight.spans()[0].begin_ns, 18 * kNsPerSecond);
}

TEST_F(FlightTest, AtACrashNothingMoreIsDeleted) {
  FlightRecorder flight(2 * kNsPerSecond, *output_);
  record_until(flight, 20 * kNsPerSecond);
  flight.finish(20 * kNsPerSecond, true);
  const size_t rows = finish().size();
  EXPECT_GE(rows, 2000u);
  EXPECT_LE(rows, 3000u);  // S and two segments
}

TEST_F(FlightTest, TheFileStaysBounded) {
  FlightRecorder flight(kNsPerSecond, *output_);
  record_until(flight, 5 * kNsPerSecond);
  output_->commit();
  const auto pages = [&] { return output_->query_int("SELECT page_count FROM pragma_page_count"); };
  const int64_t after_5_s = pages();
  record_until(flight, 100 * kNsPerSecond);
  EXPECT_LE(pages(), after_5_s + 4) << "pages of deleted rows are used again";
}

TEST_F(FlightTest, WhatIsOpenAndWhatEndedLateStays) {
  FlightRecorder flight(kNsPerSecond, *output_);
  output_->append(HostRangeRow{.id = ++last_id_, .thread_id = 1, .start_ns = 0});
  output_->append(HostRangeRow{.id = ++last_id_, .thread_id = 1, .start_ns = 0});
  record_until(flight, 10 * kNsPerSecond);
  output_->close_range(2, 10 * kNsPerSecond);
  flight.finish(10 * kNsPerSecond, false);
  const std::vector<HostRangeRow> rows = finish();
  ASSERT_GE(rows.size(), 2u);
  EXPECT_EQ(rows[0].id, 1);
  EXPECT_EQ(rows[0].duration_ns, std::nullopt);
  EXPECT_EQ(rows[1].id, 2);
  EXPECT_EQ(rows[2].start_ns, 9 * kNsPerSecond);
}

// `collective` is a view: rows are deleted from its base table.
TEST_F(FlightTest, OldCollectivesAndEventsOfNcclGo) {
  FlightRecorder flight(kNsPerSecond, *output_);
  output_->append(schema::CollectiveRow{.id = 1, .enqueue_ns = 5});  // never ends
  for (int64_t id = 2; id <= 101; ++id) {
    const int64_t start_ns = id * 100 * kMs;
    output_->append(schema::CollectiveRow{.id = id,
                                          .enqueue_ns = start_ns - kMs,
                                          .start_ns = start_ns,
                                          .end_ns = start_ns + kMs,
                                          .state = schema::CollectiveState::kComplete});
    output_->append(schema::NcclEventRow{.id = id, .start_ns = start_ns, .duration_ns = kMs});
    flight.on_time(start_ns);
    output_->commit();
  }
  flight.finish(10'100 * kMs, false);
  finish();
  const auto collectives = *trace_->read_all<schema::CollectiveRow>();
  ASSERT_THAT(collectives, SizeIs(12));
  EXPECT_EQ(collectives[0].id, 1);
  EXPECT_EQ(collectives[1].start_ns, 9'100 * kMs);
  EXPECT_EQ(*trace_->count("nccl_event"), 11);
  EXPECT_EQ(output_->left_out(), 2 * 89);
}

TEST_F(FlightTest, APinKeepsWhatIsThere) {
  FlightRecorder flight(kNsPerSecond, *output_);
  record_until(flight, 5 * kNsPerSecond);
  flight.pin(5 * kNsPerSecond);
  record_until(flight, 20 * kNsPerSecond);
  flight.finish(20 * kNsPerSecond, false);
  const std::vector<HostRangeRow> rows = finish();
  EXPECT_LE(rows.front().start_ns, 4 * kNsPerSecond);
  const auto between = std::ranges::count_if(rows, [](const HostRangeRow& row) {
    return row.start_ns >= 5 * kNsPerSecond && row.start_ns < 19 * kNsPerSecond;
  });
  EXPECT_EQ(between, 0);
  ASSERT_THAT(flight.spans(), SizeIs(2));
  EXPECT_EQ(flight.spans()[0].end_ns, 5 * kNsPerSecond);
  EXPECT_EQ(flight.spans()[1].begin_ns, 19 * kNsPerSecond);
}

TEST(HangWatchTest, AnOpenCollectiveWithoutStepsIsAHang) {
  HangWatch watch(5 * kNsPerSecond);
  watch.on_step_end(kNsPerSecond);
  EXPECT_FALSE(watch.on_time(20 * kNsPerSecond, std::nullopt)) << "no collective is open";
  EXPECT_FALSE(watch.on_time(6 * kNsPerSecond, 2 * kNsPerSecond));
  EXPECT_TRUE(watch.on_time(7 * kNsPerSecond, 2 * kNsPerSecond));
  EXPECT_FALSE(watch.on_time(9 * kNsPerSecond, 2 * kNsPerSecond)) << "once for each hang";
  watch.on_step_end(10 * kNsPerSecond);
  EXPECT_FALSE(watch.on_time(14 * kNsPerSecond, 2 * kNsPerSecond));
  EXPECT_TRUE(watch.on_time(15 * kNsPerSecond, 2 * kNsPerSecond));
}

TEST(HangWatchTest, OnlySoManyHangsArePinned) {
  HangWatch watch(kNsPerSecond);
  int hangs = 0;
  for (int64_t step = 0; step < 20; ++step) {
    watch.on_step_end(10 * step * kNsPerSecond);
    hangs += watch.on_time((10 * step + 5) * kNsPerSecond, 10 * step * kNsPerSecond) ? 1 : 0;
  }
  EXPECT_EQ(hangs, HangWatch::kMostHangs);
}

}  // namespace
}  // namespace dprof::recorder
