// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/trace_output.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <algorithm>
#include <map>

#include "base/test_support/sanitized.h"
#include "collector/recorder/test_support/drain_fixture.h"
#include "collector/recorder/test_support/file_size_limit.h"

namespace dprof::recorder {
namespace {

class TraceOutputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<TraceOutput>> output = TraceOutput::create(path_);
    ASSERT_TRUE(output.ok());
    output_ = *std::move(output);
  }
  void append_rows(int rows) {
    for (int i = 0; i < rows; ++i) {
      schema::HostRangeRow row;
      row.id = ++appended_;
      row.thread_id = 1 + appended_ % 2;
      row.start_ns = appended_;
      row.duration_ns = 1;
      row.name_id = output_->intern(name_of(appended_));
      output_->append(row);
    }
    output_->commit();
  }
  static int64_t counted_losses(const schema::TraceReader& trace) {
    const auto losses = *trace.read_all<schema::LossRow>("reason = 6");
    int64_t counted = 0;
    for (const schema::LossRow& loss : losses) counted += loss.count;
    return counted;
  }
  // A new text every 100 rows.
  static std::string name_of(int64_t id) { return fmt::format("name {}", id / 100); }

  const test_support::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "trace.dprof";
  std::unique_ptr<TraceOutput> output_;
  int64_t appended_ = 0;
};

TEST_F(TraceOutputTest, AFullDiskIsCountedAndEndsWithTheNextRoom) {
  append_rows(1000);
  EXPECT_FALSE(output_->in_gap());
  {
    const FileSizeLimit limit(1 << 20);
    // On a slow machine a gap may just have ended: there was room for a moment.
    for (int i = 0; i < 100 || !output_->in_gap(); ++i) {
      ASSERT_LT(i, 1000) << "no gap";
      append_rows(1000);
    }
    const FileSizeLimit none(1);
    EXPECT_FALSE(output_->end_gap()) << "there is no room yet";
  }
  const int64_t last_in_gap = appended_;
  const int64_t unwritten = output_->unwritten();
  EXPECT_GT(unwritten, 0);
  ASSERT_TRUE(output_->end_gap());
  append_rows(1000);
  EXPECT_EQ(output_->unwritten(), unwritten);
  EXPECT_THAT(output_->troubles().at("write_gap"), ::testing::HasSubstr("host_range"));
  ASSERT_TRUE(output_->finish().ok());

  const Result<schema::TraceReader> trace = schema::TraceReader::open(path_);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(*trace->count("host_range") + unwritten, appended_) << "written or counted, each one";
  const auto losses = *trace->read_all<schema::LossRow>("reason = 6");
  // A slow machine may find room for a moment, and so have a second gap.
  int64_t counted = 0;
  std::map<int64_t, int64_t> last_of_thread;
  for (const schema::LossRow& loss : losses) {
    counted += loss.count;
    int64_t& last = last_of_thread[loss.thread_id.value_or(0)];
    last = std::max(last, *loss.last_ns);
  }
  EXPECT_EQ(counted, unwritten);
  ASSERT_EQ(last_of_thread.size(), 2u) << "each thread's own";
  EXPECT_EQ(last_of_thread.begin()->second + last_of_thread.rbegin()->second, 2 * last_in_gap - 1)
      << "the times of the gap";
  const auto rows = *trace->read_all<schema::HostRangeRow>();
  ASSERT_EQ(rows.back().id, appended_);
  const auto texts = *trace->read_all<schema::StringRow>();
  std::map<int64_t, std::string> text_of;
  for (const schema::StringRow& row : texts) text_of[row.id] = row.value;
  for (const schema::HostRangeRow& row : rows) ASSERT_EQ(text_of[row.name_id], name_of(row.id));
}

TEST_F(TraceOutputTest, WhatIsOpenAtAFailureIsClosedAfterIt) {
  const schema::HostRangeRow open{.id = 1, .thread_id = 1, .start_ns = 1};
  output_->append(open);
  output_->append(schema::CollectiveRow{.id = 1, .enqueue_ns = 7});
  output_->set_meta("host", "before");
  output_->commit();
  {
    const FileSizeLimit limit(1);
    output_->append(schema::ThreadRow{.id = 1, .os_tid = 77});
    output_->close_range(1, 41);
    output_->update_collective({.id = 1, .enqueue_ns = 7, .end_ns = 99});
    output_->set_meta("host", "within");
    output_->commit();
    ASSERT_TRUE(output_->in_gap());
    output_->set_thread({.id = 1, .os_tid = 78});
  }
  ASSERT_TRUE(output_->end_gap());
  ASSERT_TRUE(output_->finish().ok());
  const Result<schema::TraceReader> trace = schema::TraceReader::open(path_);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->read_all<schema::HostRangeRow>()->at(0).duration_ns, 41);
  EXPECT_EQ(trace->read_all<schema::CollectiveRow>()->at(0).end_ns, 99);
  EXPECT_EQ(trace->read_all<schema::ThreadRow>()->at(0).os_tid, 78);
  EXPECT_EQ(trace->meta("host"), "within");
  EXPECT_EQ(output_->unwritten(), 0);
}

TEST_F(TraceOutputTest, ATraceThatCannotBeMadeIsMadeWhenThereIsRoom) {
  const std::filesystem::path path = folder_.path() / "late.dprof";
  {
    const FileSizeLimit limit(1);
    output_ = *TraceOutput::create_when_possible(path, schema::TraceWriter::Journal::kWriteAhead);
    EXPECT_TRUE(output_->in_gap());
    output_->set_meta("host", "early");
    append_rows(1000);
    EXPECT_FALSE(output_->end_gap());
    EXPECT_FALSE(std::filesystem::exists(path)) << "no empty file";
  }
  ASSERT_TRUE(output_->end_gap());
  append_rows(1000);
  const Result<bool> finished = output_->finish();
  ASSERT_TRUE(finished.ok() && *finished);
  const Result<schema::TraceReader> trace = schema::TraceReader::open(path);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->meta("host"), "early");
  const auto rows = *trace->read_all<schema::HostRangeRow>();
  ASSERT_EQ(rows.size(), 1000u);
  for (const schema::HostRangeRow& row : rows) {
    ASSERT_EQ(trace->string(row.name_id), name_of(row.id));
  }
  EXPECT_EQ(counted_losses(*trace), 1000);
}

// Whatever does not fit: rows, the end, or the plain file made of both.
TEST_F(TraceOutputTest, AnEndThatCannotBeWrittenIsWrittenLater) {
  int failed = 0;
  for (rlim_t bytes = 1; bytes < (rlim_t{4} << 20); bytes += bytes / 8 + 4096) {
    const std::filesystem::path path = folder_.path() / fmt::format("{}.dprof", bytes);
    output_ = *TraceOutput::create(path);
    appended_ = 0;
    append_rows(500);
    {
      const FileSizeLimit limit(bytes);
      append_rows(2000);
      if (const Result<bool> finished = output_->finish(); finished.ok()) {
        EXPECT_TRUE(*finished);
        break;
      }
      EXPECT_FALSE(output_->finish().ok());
    }
    ++failed;
    const Result<bool> finished = output_->finish();
    ASSERT_TRUE(finished.ok() && *finished) << bytes;
    EXPECT_FALSE(std::filesystem::exists(path.string() + "-wal")) << bytes;
    const Result<schema::TraceReader> trace = schema::TraceReader::open(path);
    ASSERT_TRUE(trace.ok());
    EXPECT_EQ(*trace->count("host_range") + counted_losses(*trace), appended_) << bytes;
  }
  EXPECT_GT(failed, 10);
}

// An sqlite3 shell left open within a transaction.
TEST_F(TraceOutputTest, ALogThatAReaderHeldShrinksAfterwards) {
  DPROF_SKIP_IF_SANITIZED();
  append_rows(10);
  sqlite3* reader = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &reader), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM host_range", nullptr, nullptr, nullptr),
      SQLITE_OK);
  const std::string log = path_.string() + "-wal";
  constexpr uintmax_t kLarge = uintmax_t{80} << 20;
  for (int i = 0; i < 3000 && std::filesystem::file_size(log) < kLarge; ++i) append_rows(10'000);
  EXPECT_GE(std::filesystem::file_size(log), kLarge);
  sqlite3_close(reader);  // its transaction ends with it
  append_rows(10'000);
  append_rows(10'000);
  EXPECT_LE(std::filesystem::file_size(log), uintmax_t{64} << 20);
  ASSERT_TRUE(output_->finish().ok());
  const auto trace = schema::TraceReader::open(path_);
  EXPECT_EQ(static_cast<int64_t>(trace->read_all<schema::HostRangeRow>()->size()), appended_);
}

}  // namespace
}  // namespace dprof::recorder
