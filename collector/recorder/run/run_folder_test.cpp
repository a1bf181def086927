// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/run/run_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <fstream>
#include <latch>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/test_support/sanitized.h"
#include "collector/recorder/test_support/drain_fixture.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

void touch(const fs::path& file) { std::ofstream(file) << "x"; }

TEST(RunFolderTest, RefusesAnotherRunUnlessAllowed) {
  const test_support::TemporaryFolder scratch;
  touch(scratch.path() / "rank-00000.dprof");
  touch(scratch.path() / "run.json");
  touch(scratch.path() / "notes.txt");
  const Result<RunFolder> refused = RunFolder::create(scratch.path(), false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUsage);
  EXPECT_FALSE(refused.error().hint.empty());
  EXPECT_TRUE(fs::exists(scratch.path() / "rank-00000.dprof"));
  ASSERT_TRUE(RunFolder::create(scratch.path(), true).ok());
  EXPECT_FALSE(fs::exists(scratch.path() / "rank-00000.dprof"));
  EXPECT_TRUE(fs::exists(scratch.path() / "notes.txt")) << "no file of somebody else is deleted";
}

TEST(RunFolderTest, TakesOneRecorderAtATime) {
  const test_support::TemporaryFolder scratch;
  const Result<RunFolder> first = RunFolder::create(scratch.path() / "r", false);
  ASSERT_TRUE(first.ok());
  const Result<RunFolder> second = RunFolder::create(scratch.path() / "r", true);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kUsage);
}

Entrant of_job(const std::string& job, const std::string& seat, const std::string& clock = "c") {
  return {{job, seat}, "host", clock, "", {.tick0 = 0, .multiplier = 5, .shift = 32, .source = {}}};
}

TEST(RunFolderTest, RecordersOfOneJobShareIt) {
  const test_support::TemporaryFolder scratch;
  const fs::path path = scratch.path() / "r";
  std::optional<RunFolder> first = *RunFolder::create(path, false, of_job("j", "rank 0"));
  EXPECT_FALSE(first->joined());
  EXPECT_TRUE(first->self().first);
  EXPECT_TRUE(first->self().first_on_host);
  const Result<RunFolder> second = RunFolder::create(path, true, of_job("j", "rank 1"));
  ASSERT_TRUE(second.ok()) << second.error().what;
  EXPECT_TRUE(second->joined());
  EXPECT_FALSE(second->self().first);
  EXPECT_FALSE(second->self().first_on_host);
  EXPECT_EQ(second->host_scale()->multiplier, 5u);
  EXPECT_EQ(second->self().run_id, first->self().run_id);
  EXPECT_EQ(second->self().token, first->self().token);
  EXPECT_NE(second->self().id, first->self().id);
  EXPECT_NE(second->self().name, first->self().name) << "the same host and pid";
  EXPECT_TRUE(RunFolder::create(path, false, of_job("j", "rank 2", "other"))->self().first_on_host);
  for (const Entrant& refused : {of_job("j", "rank 1"), of_job("k", "rank 3"), Entrant{}}) {
    const Result<RunFolder> third = RunFolder::create(path, true, refused);
    ASSERT_FALSE(third.ok());
    EXPECT_EQ(third.error().code, Code::kUsage);
  }
  EXPECT_FALSE(RunFolder::open(path).ok()) << "recover must wait";

  RunIndex index{"id", "a", std::nullopt, {"host"}, {{"rank-00000.dprof", 0, "host", "complete"}},
                 {}};
  ASSERT_TRUE(first->write_index(index).ok());
  index = {"id", "a", 2, {"host"}, {{"rank-00001.dprof", 1, "host", "complete"}}, {{"c", "t"}}};
  ASSERT_TRUE(second->write_index(index).ok());
  ASSERT_TRUE(second->write_index(index).ok());
  std::ifstream file(path / "run.json");
  const nlohmann::json json = nlohmann::json::parse(file);
  EXPECT_EQ(json["traces"].size(), 2u);
  EXPECT_EQ(json["traces"][0]["rank"], 0);
  EXPECT_EQ(json["world_size"], 2);
  EXPECT_EQ(json["recorders"].size(), 1u);
  EXPECT_EQ(json["diagnostics"].size(), 1u);
}

TEST(RunFolderTest, ALateOneFindsItsRun) {
  const test_support::TemporaryFolder scratch;
  const fs::path path = scratch.path() / "r";
  std::string id;
  {
    const Result<RunFolder> first = RunFolder::create(path, false, of_job("j", "rank 0"));
    id = first->self().run_id;
  }
  const Result<RunFolder> second = RunFolder::create(path, false, of_job("j", "rank 1"));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->self().run_id, id);
}

TEST(RunFolderTest, WithoutAJobNothingIsLeft) {
  const test_support::TemporaryFolder scratch;
  { ASSERT_TRUE(RunFolder::create(scratch.path() / "r", false).ok()); }
  EXPECT_TRUE(fs::is_empty(scratch.path() / "r"));
  {
    Result<RunFolder> nothing = RunFolder::create(scratch.path() / "s", false);
    nothing->discard();
  }
  EXPECT_FALSE(fs::exists(scratch.path() / "s"));
}

TEST(RunFolderTest, RefusesAFile) {
  const test_support::TemporaryFolder scratch;
  touch(scratch.path() / "file");
  const Result<RunFolder> refused = RunFolder::create(scratch.path() / "file", true);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUsage);
}

TEST(RunFolderTest, ASecondTraceOfARankGetsASuffix) {
  const test_support::TemporaryFolder scratch;
  const Result<RunFolder> folder = RunFolder::create(scratch.path() / "r", false);
  ASSERT_TRUE(folder.ok());
  const char* names[] = {"rank-00007.dprof", "rank-00007.1.dprof", "rank-00007.2.dprof"};
  for (const char* name : names) {
    const fs::path open = folder->path() / "host-1-2.dprof";
    touch(open);
    const Result<fs::path> named = folder->name_finished(open, 7);
    ASSERT_TRUE(named.ok());
    EXPECT_EQ(named->filename(), name);
    EXPECT_FALSE(fs::exists(open));
    EXPECT_EQ(folder->name_finished(*named, 7)->filename(), name) << "has its name already";
  }
  EXPECT_EQ(folder->traces().size(), 3u);
}

TEST(RunFolderTest, WritesTheIndex) {
  const test_support::TemporaryFolder scratch;
  const Result<RunFolder> folder = RunFolder::create(scratch.path() / "r", false);
  ASSERT_TRUE(folder.ok());
  RunIndex index;
  index.id = "abc";
  index.command = "train \xff";
  index.world_size = 2;
  index.recorders = {"node-a"};
  index.traces = {{"rank-00000.dprof", 0, "node-a", "complete"},
                  {"node-a-5-6.dprof", std::nullopt, "node-a", "complete"}};
  ASSERT_TRUE(folder->write_index(index).ok());
  std::ifstream file(folder->path() / "run.json");
  const nlohmann::json json = nlohmann::json::parse(file);
  EXPECT_EQ(json["schema"], "dprof.run/1");
  EXPECT_EQ(json["id"], "abc");
  EXPECT_EQ(json["world_size"], 2);
  EXPECT_EQ(json["recorders"][0]["host"], "node-a");
  EXPECT_EQ(json["traces"][0]["rank"], 0);
  EXPECT_TRUE(json["traces"][1]["rank"].is_null());
  EXPECT_EQ(json["traces"][1]["file"], "node-a-5-6.dprof");
}

TEST(RunFolderTest, ANewFolderIsForItsOwnerAlone) {
  const test_support::TemporaryFolder scratch;
  const Result<RunFolder> folder =
      RunFolder::create(scratch.path() / "a/r", false, of_job("j", ""));
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ(fs::status(folder->path()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(folder->path() / "recorders/meeting.json").permissions(),
            fs::perms::owner_read | fs::perms::owner_write)
      << "it holds the token";
  fs::create_directory(scratch.path() / "shared");
  fs::permissions(scratch.path() / "shared", fs::perms::owner_all | fs::perms::group_all);
  ASSERT_TRUE(RunFolder::create(scratch.path() / "shared", false).ok());
  EXPECT_EQ(fs::status(scratch.path() / "shared").permissions(),
            fs::perms::owner_all | fs::perms::group_all)
      << "its owner wants it so";
}

// One recorder for each rank of a large job, on a file server that takes half a millisecond for
// each operation: all of them enter and leave within the time that one waits for the lock.
TEST(RunFolderTest, HundredsOfRecordersShareASlowFolder) {
  constexpr int kRecorders = kSanitized ? 40 : 200;
  setenv("DPROF_FAKE_FS_DELAY_US", "500", 1);  // read once: this test runs in its own process
  const test_support::TemporaryFolder scratch;
  const fs::path path = scratch.path() / "r";
  std::atomic<int> entered = 0, joined = 0;
  std::latch all_in(kRecorders);
  std::vector<std::thread> recorders;
  for (int i = 0; i < kRecorders; ++i) {
    recorders.emplace_back([&, i] {
      const Result<RunFolder> folder =
          RunFolder::create(path, false, of_job("j", fmt::format("rank {}", i)));
      entered += folder.ok() ? 1 : 0;
      joined += folder.ok() && folder->joined() ? 1 : 0;
      all_in.arrive_and_wait();
      if (!folder.ok()) return;
      const TraceEntry trace{fmt::format("rank-{:05}.dprof", i), i, "host", "complete"};
      EXPECT_TRUE(
          folder->write_index({folder->self().run_id, "c", kRecorders, {"host"}, {trace}, {}})
              .ok());
    });
  }
  for (std::thread& recorder : recorders) recorder.join();
  EXPECT_EQ(entered, kRecorders);
  EXPECT_EQ(joined, kRecorders - 1);
  std::ifstream file(path / "run.json");
  EXPECT_EQ(nlohmann::json::parse(file)["traces"].size(), size_t{kRecorders});
}

}  // namespace
}  // namespace dprof::recorder
