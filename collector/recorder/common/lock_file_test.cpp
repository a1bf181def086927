// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/common/lock_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <optional>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

void set_age(const fs::path& path, int seconds) {
  timespec times[2] = {};
  clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(LockFileTest, OneOwnerAtATime) {
  const test_support::TemporaryFolder scratch;
  const fs::path path = scratch.path() / "lock";
  {
    const auto first = LockFile::take(path);
    ASSERT_TRUE(first.ok() && *first);
    EXPECT_TRUE(LockFile::is_held(path));
    const auto second = LockFile::take(path);
    ASSERT_TRUE(second.ok());
    EXPECT_FALSE(*second);
    set_age(path, 3600);
    EXPECT_TRUE(LockFile::is_held(path)) << "on one machine the kernel knows";
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_FALSE(LockFile::is_held(path));
}

TEST(LockFileTest, AKilledOwnerIsNoticedAtOnce) {
  const test_support::TemporaryFolder scratch;
  const fs::path path = scratch.path() / "lock";
  const pid_t child = fork();
  if (child == 0) {
    const auto held = LockFile::take(path);
    _exit(held.ok() && *held ? 0 : 1);  // no destructor: as if killed
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(fs::exists(path));
  EXPECT_FALSE(LockFile::is_held(path));
  const auto taken = LockFile::take(path);
  EXPECT_TRUE(taken.ok() && *taken);
}

TEST(LockFileTest, AnOwnerOnAnotherHostLivesWhileItBeats) {
  const test_support::TemporaryFolder scratch;
  const fs::path path = scratch.path() / "lock";
  std::ofstream(path) << "another boot";
  EXPECT_TRUE(LockFile::is_held(path));
  set_age(path, 30);
  EXPECT_TRUE(LockFile::is_held(path));
  set_age(path, 90);
  EXPECT_FALSE(LockFile::is_held(path));
  EXPECT_TRUE(fs::exists(path));
  const auto taken = LockFile::take(path);
  EXPECT_TRUE(taken.ok() && *taken);
}

TEST(LockFileTest, WithoutAFolderItFailsWithAReason) {
  const auto taken = LockFile::take("/nowhere/at/all");
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, Code::kIo);
  EXPECT_FALSE(taken.error().hint.empty());
}

TEST(LockFileTest, WaitingEndsWithAnErrorThatIsNobodysFault) {
  const test_support::TemporaryFolder scratch;
  const fs::path path = scratch.path() / "lock";
  const auto held = LockFile::take(path);
  ASSERT_TRUE(held.ok() && *held);
  const Result<LockFile> waited = LockFile::wait_for(path, std::chrono::milliseconds(50));
  ASSERT_FALSE(waited.ok());
  EXPECT_EQ(waited.error().code, Code::kIo) << "the command runs all the same";
}

// A moving queue on a busy machine: each owner keeps the lock briefly, and it is never free.
TEST(LockFileTest, PatienceEndsWithAnOwnerThatStays) {
  const test_support::TemporaryFolder scratch;
  const fs::path path = scratch.path() / "lock";
  ASSERT_TRUE(LockFile::take(path).ok());  // and gone
  std::atomic<bool> begun = false;
  std::thread owners([&] {
    std::optional<LockFile> owner;
    for (int i = 0; i < 15; ++i) {
      const fs::path next = scratch.path() / "next";
      Result<std::optional<LockFile>> taken = LockFile::take(next);
      ASSERT_TRUE(taken.ok() && *taken);
      fs::rename(next, path);  // its destructor finds another file there and leaves it
      owner = std::move(*taken);
      begun = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
    }
    fs::remove(path);
  });
  while (!begun) std::this_thread::yield();
  const Result<LockFile> waited = LockFile::wait_for(path, std::chrono::milliseconds(4000));
  owners.join();
  EXPECT_TRUE(waited.ok()) << waited.error().what;
}

}  // namespace
}  // namespace dprof::recorder
