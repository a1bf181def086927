// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "collector/recorder/recording/recording_internal.h"
#include "collector/recorder/test_support/fake_process.h"
#include "collector/recorder/test_support/file_size_limit.h"
#include "collector/wire/enum_values.h"
#include "schema/trace_reader.h"
#include "tests/support/temporary_folder.h"

namespace dprof::recorder {
namespace {

class RecordingTest : public ::testing::Test {
 protected:
  // A process that says hello and exits; with a rank, it leaves that many marks. Call it before a
  // recording welcomes anybody: a child of a process with threads can inherit a lock that nobody
  // will release (of AddressSanitizer's allocator, for one).
  Guest short_guest(std::string_view variables = {}, int marks = 0) {
    const pid_t child = fork();
    if (child == 0) {
      FakeProcess process(clock_.scale());
      wire::RingWriter ring = process.open_ring(0, static_cast<uint32_t>(getpid()));
      const uint32_t mark = process.text("mark");
      for (int i = 0; i < marks; ++i) {
        ring.push(range_begin(mark, clock_.now_ticks(), wire::range_category::kNvtxMark));
      }
      process.mapping().header()->clean_end.store(1);
      _exit(process.say_hello(server_->path(), variables) ? 0 : 1);
    }
    Guest guest = next_guest();
    pollfd ended{guest.process.get(), POLLIN, 0};
    poll(&ended, 1, 10'000);
    return guest;
  }
  Guest next_guest() {
    std::vector<Guest> guests;
    for (int i = 0; i < 60'000 && guests.empty(); ++i) {
      guests = server_->accept_all();
      usleep(1000);
    }
    DPROF_CHECK(guests.size() == 1);  // it said hello within a minute
    return std::move(guests[0]);
  }
  // By this process: descriptors of their files.
  static int open_traces() {
    int traces = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string file = std::filesystem::read_symlink(entry, gone).string();
      traces += file.find(".dprof") != std::string::npos ? 1 : 0;
    }
    return traces;
  }
  static void let_end(Recording& recording) {
    recording.watch([](int) { return Command::Ending(); });
    while (recording.busy()) {
      recording.conclude_done();
      usleep(1000);
    }
  }
  void TearDown() override {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }

  const test_support::TemporaryFolder scratch_;
  const RunClock clock_ = RunClock::start({});
  Result<RunFolder> folder_ = RunFolder::create(scratch_.path() / "r", false);
  Result<Server> server_ = Server::open();
};

// A pidfd stays ready once its process has ended: polling it costs a whole core until the recording
// has drained, which can take long with a full disk.
TEST_F(RecordingTest, AProcessThatHasEndedIsNotPolled) {
  Recording recording(clock_, {}, *folder_, [] {});
  recording.welcome(short_guest());
  ASSERT_TRUE(recording.busy());
  EXPECT_EQ(recording.descriptors().size(), 1u);
  recording.watch([](int) { return Command::Ending(); });
  EXPECT_TRUE(recording.busy()) << "not concluded yet";
  EXPECT_TRUE(recording.descriptors().empty());
  recording.finish();
}

TEST_F(RecordingTest, AHangAsksEachProcessForWhatIsUnfinished) {
  const pid_t child = fork();
  if (child == 0) {
    FakeProcess process(clock_.scale());
    if (!process.say_hello(server_->path(), {})) _exit(1);
    const std::atomic<uint32_t>& hangs = process.mapping().control()->hangs;
    for (int i = 0; i < 10'000 && hangs.load() == 0; ++i) usleep(1000);
    _exit(hangs.load() == 1 ? 0 : 2);
  }
  Guest guest = next_guest();
  Recording recording(clock_, {}, *folder_, [] {});
  recording.welcome(std::move(guest));
  recording.ask_for_unfinished();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  let_end(recording);
  recording.finish();
}

constexpr int kMarks = 100;
constexpr std::string_view kRank3{"RANK=3\0WORLD_SIZE=4\0", 20};

// Such a process gets its trace when there is room, and the missing records are counted there.
TEST_F(RecordingTest, AProcessThatBeginsAndEndsWhileTheDiskIsFullHasATrace) {
  Recording recording(clock_, {}, *folder_, [] {});
  Guest guest = short_guest(kRank3, kMarks);
  {
    const FileSizeLimit limit(1);
    recording.welcome(std::move(guest));
    let_end(recording);
    EXPECT_EQ(recording.unfinished(), 1u);
    EXPECT_EQ(recording.write_gaps().traces, 1);
    EXPECT_TRUE(recording.traces().empty());
  }
  for (int i = 0; i < 10'000 && recording.unfinished() != 0; ++i) {
    recording.conclude_done();
    usleep(1000);
  }
  ASSERT_EQ(recording.unfinished(), 0u);
  recording.finish();
  recording.give_up_unfinished();
  EXPECT_GE(recording.totals().lost, kMarks) << "and what the recorder itself measured";
  ASSERT_EQ(recording.traces().size(), 1u);
  EXPECT_EQ(recording.traces()[0].file, "rank-00003.dprof");
  const auto trace = schema::TraceReader::open(folder_->path() / "rank-00003.dprof");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->meta("ended"), "complete");
  EXPECT_EQ(trace->meta_int("rank"), 3);
  int64_t lost = 0;
  const auto losses = *trace->read_all<schema::LossRow>();
  for (const schema::LossRow& loss : losses) {
    if (loss.reason == schema::LossReason::kDisk && loss.thread_id) lost += loss.count;
  }
  EXPECT_EQ(*trace->count("host_range") + lost, kMarks);
}

TEST_F(RecordingTest, ATraceForWhichThereIsNeverRoomIsNamed) {
  Recording recording(clock_, {}, *folder_, [] {});
  Guest guest = short_guest(kRank3, kMarks);
  const FileSizeLimit limit(1);
  recording.welcome(std::move(guest));
  let_end(recording);
  recording.finish();
  recording.give_up_unfinished();
  EXPECT_TRUE(recording.traces().empty()) << "it has no file";
  EXPECT_GE(recording.totals().lost, kMarks) << "and what the recorder itself measured";
  ASSERT_EQ(recording.diagnostics().size(), 1u);
  EXPECT_EQ(recording.diagnostics()[0].code, "records_lost");
}

// The fate of such processes depends on later ones: there can be hundreds of them.
TEST_F(RecordingTest, WhatWaitsForTheEndKeepsNoTraceOpen) {
  constexpr int kProcesses = 5;
  std::vector<Guest> guests;
  for (int i = 0; i < kProcesses; ++i) guests.push_back(short_guest({}, kMarks));
  Recording recording(clock_, {}, *folder_, [] {});
  for (Guest& guest : guests) recording.welcome(std::move(guest));
  EXPECT_GE(open_traces(), kProcesses);
  let_end(recording);
  EXPECT_EQ(open_traces(), 0) << "nor SQLite's cache of it";
  recording.finish();
  ASSERT_EQ(recording.traces().size(), kProcesses);
  for (const TraceEntry& entry : recording.traces()) {
    const auto trace = schema::TraceReader::open(folder_->path() / entry.file);
    ASSERT_TRUE(trace.ok()) << trace.error().what;
    EXPECT_EQ(trace->meta("ended"), "complete");
    EXPECT_EQ(*trace->count("host_range"), kMarks);
  }
}

// If the number of processes and threads is limited, the recorder goes on without that one.
TEST_F(RecordingTest, AProcessForWhichThereIsNoThreadIsNamed) {
  Guest guest = short_guest();
  std::filesystem::permissions(folder_->path(), std::filesystem::perms(0777));
  std::filesystem::permissions(scratch_.path(), std::filesystem::perms(0755));
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    const rlimit none{1, 1};
    if (setrlimit(RLIMIT_NPROC, &none) != 0) _exit(3);
    Recording recording(clock_, {}, *folder_, [] {});
    recording.welcome(std::move(guest));
    const bool named = recording.diagnostics().size() == 1 &&
                       recording.diagnostics()[0].code == "records_lost" &&
                       recording.diagnostics()[0].text.find("no thread") != std::string::npos;
    const bool nothing_left = folder_->traces().empty();
    _exit(recording.busy() ? 4 : !named ? 5 : nothing_left ? 0 : 6);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "an exception ended it";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace dprof::recorder
