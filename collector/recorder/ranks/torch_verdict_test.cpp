// SPDX-License-Identifier: Apache-2.0
// Verdicts by a script that stands in for dprof, with answers chosen by the test. The C library
// stands in for a LibTorch: any file with a build id does.
#include "collector/recorder/ranks/torch_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string c_library() {
  std::string found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* path) {
        if (std::string_view(info->dlpi_name).find("libc.so.6") != std::string_view::npos) {
          *static_cast<std::string*>(path) = info->dlpi_name;
        }
        return 0;
      },
      &found);
  return found;
}

class TorchVerdictTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("XDG_CACHE_HOME", (folder_.path() / "cache").c_str(), 1); }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  void write_program(const std::string& script) {
    std::ofstream(program_) << "#!/bin/sh\n"
                            << "echo asked >> " << asked_.string() << "\n"
                            << script << "\n";
    fs::permissions(program_, fs::perms::owner_all);
  }
  TorchVerdict judge() {
    return judge_torch({program_, c_library(), c_library(), build_id_of(c_library())}, stop_);
  }
  [[nodiscard]] int times_asked() const {
    std::ifstream file(asked_);
    int times = 0;
    for (std::string line; std::getline(file, line);) ++times;
    return times;
  }

  test_support::TemporaryFolder folder_;
  const fs::path program_ = folder_.path() / "dprof";
  const fs::path asked_ = folder_.path() / "asked";
  std::atomic<bool> stop_{false};
};

TEST_F(TorchVerdictTest, IsKeptInTheUsersCache) {
  write_program("[ $1 = doctor ] && [ $2 = --probe-torch ] && echo fits");
  EXPECT_TRUE(judge().fits);
  EXPECT_TRUE(judge().fits);
  EXPECT_EQ(times_asked(), 1);
}

TEST_F(TorchVerdictTest, SaysWhatDiffers) {
  write_program("echo differs its numel is elsewhere");
  for (int i = 0; i < 2; ++i) {
    const TorchVerdict verdict = judge();
    EXPECT_FALSE(verdict.fits);
    EXPECT_EQ(verdict.why_not, "its numel is elsewhere");
  }
  EXPECT_EQ(times_asked(), 1);
}

TEST_F(TorchVerdictTest, WhatIsUnsureOrNoAnswerIsAskedAgain) {
  write_program("echo unsure no answer within 20 s");
  EXPECT_EQ(judge().why_not, "no answer within 20 s");
  write_program("kill -SEGV $$");
  EXPECT_EQ(judge().why_not, "the probe ended without an answer");
  write_program("echo nonsense");
  EXPECT_EQ(judge().why_not, "the probe ended without an answer");
  EXPECT_EQ(times_asked(), 3);
}

TEST_F(TorchVerdictTest, ACacheThatCannotBeWrittenIsNoLoss) {
  setenv("XDG_CACHE_HOME", "/proc/no/such/folder", 1);
  write_program("echo fits");
  EXPECT_TRUE(judge().fits);
  EXPECT_TRUE(judge().fits);
  EXPECT_EQ(times_asked(), 2);
}

TEST_F(TorchVerdictTest, AHangEndsWithTheRecording) {
  write_program("sleep 100");
  stop_ = true;
  EXPECT_THAT(judge().why_not, HasSubstr("no answer"));
  EXPECT_TRUE(!fs::exists(folder_.path() / "cache/dprof/torch"));
}

TEST_F(TorchVerdictTest, AnotherFileThanTheProcessHasIsNotJudged) {
  write_program("echo fits");
  const TorchVerdict verdict = judge_torch({program_, c_library(), c_library(), "1234"}, stop_);
  EXPECT_FALSE(verdict.fits);
  EXPECT_THAT(verdict.why_not, HasSubstr("the recorder sees another"));
  EXPECT_EQ(times_asked(), 0);
}

TEST_F(TorchVerdictTest, EachBuildIsJudgedOnceForAllRanks) {
  setenv("XDG_CACHE_HOME", "/proc/no/such/folder", 1);
  write_program("sleep 0.2; echo fits");
  TorchVerdicts verdicts(program_, c_library());
  const std::string build_id = build_id_of(c_library());
  EXPECT_FALSE(verdicts.ask(c_library(), build_id)) << "nobody waits";
  std::optional<TorchVerdict> verdict;
  for (int i = 0; i < 1000 && !verdict; ++i, usleep(10'000)) {
    verdict = verdicts.ask(c_library(), build_id);
  }
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->fits);
  EXPECT_EQ(times_asked(), 1);
}

}  // namespace
}  // namespace dprof::recorder
