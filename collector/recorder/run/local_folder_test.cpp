// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/run/local_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "collector/recorder/run/json_file.h"
#include "collector/recorder/run/run_folder.h"
#include "collector/recorder/test_support/drain_fixture.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

constexpr char kId[] = "0123456789abcdef0123456789abcdef";

void put(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class LocalFolderTest : public ::testing::Test {
 protected:
  LocalFolderTest() {
    fs::create_directory(run_);
    RecorderFile self;
    self.name = "node-7";
    self.host = "node";
    self.id = kId;
    local_ = *make_local_folder(run_, scratch_.path() / "disk", self);
  }
  Result<fs::path> move(const char* name, bool goes_on = true) const {
    return move_home(local_, local_.path / name, [=] { return goes_on; });
  }
  test_support::TemporaryFolder scratch_;
  fs::path run_ = scratch_.path() / "run";
  LocalFolder local_;
};

TEST_F(LocalFolderTest, IsFoundByItsNote) {
  const std::vector<LocalFolder> found = find_local_folders(run_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, local_.path);
  EXPECT_EQ(found[0].host, "node");
  EXPECT_TRUE(is_here(found[0]));
  EXPECT_EQ(fs::status(local_.path).permissions(), fs::perms::owner_all);
  remove_local_folder(local_);
  EXPECT_FALSE(is_here(found[0]));
  EXPECT_TRUE(find_local_folders(run_).empty());
}

TEST_F(LocalFolderTest, ANoteThatNamesAnotherFolderIsNotBelieved) {
  put(run_ / "a.local", R"({"schema":"dprof.local/1","host":"node","folder":"/etc"})");
  put(run_ / "b.local",
      R"({"schema":"dprof.local/1","host":"node","folder":"dprof-)" + std::string(kId) + R"("})");
  put(run_ / "c.local", R"({"schema":"dprof.local/1","host":7,"folder":{}})");
  put(run_ / "d.local", "no JSON");
  EXPECT_EQ(find_local_folders(run_).size(), 1u);
}

TEST_F(LocalFolderTest, IsFoundByANoteThatSaysWhatIsLeft) {
  note_left(local_, 2, "no room");
  EXPECT_EQ(read_json(local_.note).at("traces"), 2);
  EXPECT_EQ(read_json(local_.note).at("why"), "no room");
  ASSERT_EQ(find_local_folders(run_).size(), 1u);
  EXPECT_EQ(find_local_folders(run_)[0].path, local_.path);
}

TEST_F(LocalFolderTest, MovesATraceToTheNextFreeName) {
  put(run_ / "rank-00003.dprof", "of another recorder");
  put(local_.path / "rank-00003.dprof", "ours");
  put(local_.path / "node-8-9.dprof", "without a rank");
  EXPECT_EQ(*move("rank-00003.dprof"), run_ / "rank-00003.1.dprof");
  EXPECT_EQ(*move("node-8-9.dprof"), run_ / "node-8-9.dprof");
  EXPECT_EQ(read_text(run_ / "rank-00003.1.dprof"), "ours");
  EXPECT_EQ(read_text(run_ / "rank-00003.dprof"), "of another recorder");
  EXPECT_TRUE(fs::is_empty(local_.path));
  remove_local_folder(local_);
  EXPECT_FALSE(fs::exists(local_.path));
}

TEST_F(LocalFolderTest, ATraceThatWasCopiedBeforeAKillIsNotCopiedAgain) {
  put(run_ / "rank-00000.dprof", "copied");
  put(run_ / ".node-7-rank-00000.dprof.part", "half a co");
  put(local_.path / "rank-00000.dprof", "copied");
  EXPECT_EQ(*move("rank-00000.dprof"), run_ / "rank-00000.dprof");
  EXPECT_FALSE(fs::exists(run_ / "rank-00000.1.dprof"));
  EXPECT_FALSE(fs::exists(run_ / ".node-7-rank-00000.dprof.part"));
  EXPECT_TRUE(fs::is_empty(local_.path));
}

TEST_F(LocalFolderTest, WhatCannotBeMovedStaysWhole) {
  put(local_.path / "rank-00001.dprof", "ours");
  EXPECT_EQ(move("rank-00001.dprof", false).error().code, Code::kIo);
  put(local_.path / "rank-00001.dprof-wal", "somebody reads");
  EXPECT_EQ(move("rank-00001.dprof").error().code, Code::kUnsupported);
  EXPECT_EQ(read_text(local_.path / "rank-00001.dprof"), "ours");
  EXPECT_EQ(files_in(run_).size(), 1u) << "the note alone";
  remove_local_folder(local_);
  EXPECT_EQ(find_local_folders(run_).size(), 1u) << "there is a trace yet";
}

}  // namespace
}  // namespace dprof::recorder
