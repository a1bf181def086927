// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/trace_output.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>

#include "collector/recorder/test_support/drain_fixture.h"

namespace dprof::recorder {
namespace {

// A limit of the file size is what a full disk looks like, and can be lifted again.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

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
    for (int i = 0; i < 100; ++i) append_rows(1000);
    ASSERT_TRUE(output_->in_gap());
    const FileSizeLimit none(1);
    EXPECT_FALSE(output_->end_gap()) << "there is no room yet";
  }
  const int64_t unwritten = output_->unwritten();
  EXPECT_GT(unwritten, 0);
  ASSERT_TRUE(output_->end_gap());
  append_rows(1000);
  EXPECT_EQ(output_->unwritten(), unwritten);
  EXPECT_THAT(output_->told().at("write_gap"), ::testing::HasSubstr("host_range"));
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
  EXPECT_EQ(last_of_thread.begin()->second + last_of_thread.rbegin()->second, 2 * 101'000 - 1)
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

}  // namespace
}  // namespace dprof::recorder
