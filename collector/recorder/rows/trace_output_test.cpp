// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/trace_output.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

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

TEST(TraceOutputTest, AFullDiskIsCountedAndNeverStopsTheDrain) {
  const test_support::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "trace.dprof";
  Result<std::unique_ptr<TraceOutput>> output = TraceOutput::create(path);
  ASSERT_TRUE(output.ok());
  TraceOutput& out = **output;
  const int64_t name = out.intern("x");
  int64_t appended = 0;
  const auto append_rows = [&](int rows) {
    for (int i = 0; i < rows; ++i) {
      schema::HostRangeRow row;
      row.id = ++appended;
      row.thread_id = 1;
      row.start_ns = appended;
      row.duration_ns = 1;
      row.name_id = name;
      out.append(row);
    }
    out.commit();
  };
  append_rows(1000);
  EXPECT_FALSE(out.failure().has_value());
  {
    const FileSizeLimit limit(1 << 20);
    for (int i = 0; i < 100; ++i) append_rows(1000);
    ASSERT_TRUE(out.failure().has_value());
  }
  EXPECT_GT(out.unwritten(), 0);
  const int64_t unwritten = out.unwritten();
  ASSERT_TRUE(out.reopen(path).ok());
  out.append(schema::LossRow{schema::Source::kRecorder, std::nullopt, schema::LossReason::kDisk,
                             unwritten, std::nullopt, std::nullopt});
  ASSERT_TRUE(out.finish().ok());
  const Result<schema::TraceReader> trace = schema::TraceReader::open(path);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(*trace->count("host_range") + unwritten, appended) << "written or counted, each one";
  EXPECT_EQ(trace->read_all<schema::LossRow>()->at(0).count, unwritten);
}

}  // namespace
}  // namespace dprof::recorder
