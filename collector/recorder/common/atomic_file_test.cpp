// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/common/atomic_file.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/support/temporary_folder.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(AtomicFileTest, ALinkInTheWayIsNotFollowed) {
  const test_support::TemporaryFolder scratch;
  std::ofstream(scratch.path() / "precious") << "mine";
  fs::create_symlink(scratch.path() / "precious", scratch.path() / ".token.part");
  ASSERT_TRUE(replace_file(scratch.path() / "token", "secret", FileAccess::kOwnerOnly, "").ok());
  EXPECT_EQ(text_of(scratch.path() / "precious"), "mine");
  EXPECT_EQ(text_of(scratch.path() / "token"), "secret");
  struct stat status {};
  ASSERT_EQ(stat(scratch.file("token").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(AtomicFileTest, WhatFailsSaysWhyAndLeavesTheOldFile) {
  const test_support::TemporaryFolder scratch;
  const fs::path path = scratch.path() / "file";
  ASSERT_TRUE(replace_file(path, "old", FileAccess::kAsUmask, "").ok());
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{8, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const Status failed = replace_file(path, "longer than it may be", FileAccess::kAsUmask, "h");
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().what, ::testing::HasSubstr("File too large"));
  EXPECT_EQ(text_of(path), "old");
  EXPECT_EQ(files_in(scratch.path()), 1u) << "no part is left";
}

}  // namespace
}  // namespace dprof::recorder
