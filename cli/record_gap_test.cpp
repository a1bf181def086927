// SPDX-License-Identifier: Apache-2.0
// A disk that is full for a while, with real processes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "cli/test_support/recording.h"
#include "schema/database.h"
#include "schema/trace_reader.h"

namespace dprof::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

bool wait_for_error(const Running& running, const std::string& text) {
  for (int i = 0; i < 3000; ++i) {
    if (running.err().find(text) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

// A file system of its own, if this user is allowed to mount one.
class SmallDisk {
 public:
  explicit SmallDisk(const fs::path& path) : path_(path) {
    fs::create_directory(path_);
    mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=4m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] bool mounted() const { return mounted_; }
  void fill() const {
    std::ofstream file(path_ / "filler", std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  void make_room() const { fs::remove(path_ / "filler"); }

 private:
  fs::path path_;
  bool mounted_ = false;
};

// Each range is in the trace under its own name, or counted.
void expect_written_or_counted(const fs::path& run, const std::string& out) {
  const int64_t beats = std::atoll(out.substr(out.find('\n') + 1).c_str());
  const fs::path trace = run / "rank-00000.dprof";
  const auto database = schema::Database::open(trace, schema::Database::Mode::kReadOnly);
  ASSERT_TRUE(database.ok()) << database.error().what;
  const auto count = [&](const char* sql) { return *database->query_int(sql); };
  const int64_t lost =
      count("SELECT sum(count) FROM loss WHERE reason = 6 AND thread_id IS NOT NULL");
  EXPECT_GT(lost, 0);
  EXPECT_EQ(count("SELECT count(*) FROM host_range") + lost, beats + 1);
  EXPECT_EQ(count("SELECT count(*) FROM host_range WHERE duration_ns IS NULL"), 0)
      << "what was open is closed, whenever that was";
  EXPECT_EQ(count("SELECT count(*) FROM host_range_text WHERE sequence IS NOT NULL "
                  "AND name != 'beat-' || sequence"),
            0)
      << "names stay right";
  EXPECT_GT(count("SELECT count(*) FROM host_range WHERE start_ns > "
                  "(SELECT max(last_ns) FROM loss WHERE reason = 6)"),
            0)
      << "the recording went on";
  EXPECT_EQ(count("SELECT count(*) FROM loss WHERE reason = 6 AND thread_id IS NOT NULL AND "
                  "(first_ns IS NULL OR last_ns - first_ns < 50000000)"),
            0)
      << "the gap has its times";
  EXPECT_EQ(count("SELECT count(*) FROM diagnostic WHERE code = 'write_gap'"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM thread"), 1);
  EXPECT_EQ(*database->query_text("SELECT value FROM meta WHERE key = 'ended'"), "complete");
}

std::vector<std::string> record_beats(const std::string& run) {
  std::vector<std::string> arguments = record(
      {"-o", run}, {"hello", "open", "sleep=500", "print=ready", "beats=stop", "end", "clean"});
  arguments.insert(arguments.begin(), kDprof);
  return arguments;
}

TEST(RecordGapTest, AFullDiskIsSaidAtOnceAndTheRecordingGoesOn) {
  const TemporaryFolder scratch;
  const SmallDisk disk(scratch.path() / "disk");
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a file system";
  Running running(scratch, record_beats("disk/r"));
  ASSERT_TRUE(running.wait_for_output("ready"));
  disk.fill();
  ASSERT_TRUE(wait_for_error(running, "a trace cannot be written")) << running.err();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  disk.make_room();
  ASSERT_TRUE(wait_for_error(running, "written again after")) << running.err();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::ofstream(scratch.path() / "stop") << "x";
  EXPECT_EQ(running.wait(), 5) << running.err();
  EXPECT_THAT(running.err(), HasSubstr("write_gap"));
  expect_written_or_counted(scratch.path() / "disk/r", running.out());
}

// The same where mounting is not allowed: a limit of the file size makes writes fail, too.
TEST(RecordGapTest, ALimitOfTheFileSizeEndsNothing) {
  const TemporaryFolder scratch;
  Running running(scratch, record_beats("r"));
  ASSERT_TRUE(running.wait_for_output("ready"));
  rlimit before{};
  const pid_t recorder = recorder_of(running);
  ASSERT_EQ(prlimit(recorder, RLIMIT_FSIZE, nullptr, &before), 0);
  const rlimit none{4096, before.rlim_max};
  ASSERT_EQ(prlimit(recorder, RLIMIT_FSIZE, &none, nullptr), 0);
  const bool said = wait_for_error(running, "a trace cannot be written");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ASSERT_EQ(prlimit(recorder, RLIMIT_FSIZE, &before, nullptr), 0);
  ASSERT_TRUE(said) << running.err();
  ASSERT_TRUE(wait_for_error(running, "written again after")) << running.err();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::ofstream(scratch.path() / "stop") << "x";
  EXPECT_EQ(running.wait(), 5) << running.err();
  expect_written_or_counted(scratch.path() / "r", running.out());
}

}  // namespace
}  // namespace dprof::cli
