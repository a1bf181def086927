// SPDX-License-Identifier: Apache-2.0
#include "analyzer/run/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "analyzer/analysis.h"
#include "schema/database.h"
#include "schema/trace_writer.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> run_codes(const Run& run) {
  std::vector<std::string> all;
  for (const Diagnostic& diagnostic : run.diagnostics) all.push_back(diagnostic.code);
  return all;
}

class OpenRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    spec_.ranks = 3;
    spec_.steps = 5;
    spec_.ops_per_phase = 2;
    ASSERT_TRUE(test_support::write_run(folder(), spec_).ok());
  }

  [[nodiscard]] fs::path folder() const { return home_.path() / "run1"; }
  [[nodiscard]] fs::path trace(int rank) const {
    return folder() / test_support::trace_file_name(rank);
  }

  static void write_text(const fs::path& path, std::string_view text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }

  static void execute(const fs::path& path, const std::string& sql) {
    auto database = schema::Database::open(path, schema::Database::Mode::kReadWrite);
    ASSERT_TRUE(database.ok()) << database.error().what;
    ASSERT_TRUE(database->execute(sql).ok()) << sql;
  }

  // Opens the folder, with rank 1 damaged: the report covers the others and names the file.
  void expect_named_and_left_out(const std::string& why) const {
    const auto run = open_run({folder()});
    ASSERT_TRUE(run.ok()) << run.error().what;
    EXPECT_TRUE(run->damaged);
    EXPECT_EQ(run->traces.size(), 2U);
    ASSERT_THAT(run_codes(*run), Contains("unreadable_trace"));
    const auto found = std::ranges::find(run->diagnostics, "unreadable_trace", &Diagnostic::code);
    EXPECT_EQ(found->severity, schema::Severity::kError);
    EXPECT_THAT(found->text, HasSubstr("rank-00001.dprof"));
    EXPECT_THAT(found->text, HasSubstr(why));
    EXPECT_THAT(found->text, HasSubstr("hint:"));
    EXPECT_THAT(found->text, Not(HasSubstr("\n")));
    EXPECT_THAT(run_codes(*run), Contains("absent_rank"));
  }

  test_support::TemporaryFolder home_;
  test_support::RunSpec spec_;
};

TEST_F(OpenRunTest, ReadsWhatMetaContains) {
  const auto run = open_run({folder()});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->name, "run1");
  EXPECT_EQ(run->command, "dprof-trainer --model convnet");
  EXPECT_EQ(run->world_size, 3);
  ASSERT_EQ(run->traces.size(), 3U);
  EXPECT_EQ(run->traces[2].rank, 2);
  EXPECT_EQ(run->traces[2].host, "node-a");
  EXPECT_EQ(run->traces[2].ended, "complete");
  EXPECT_EQ(run->traces[2].exit_status, "exit:0");
  EXPECT_FALSE(run->damaged);
  EXPECT_TRUE(run->diagnostics.empty());
}

TEST_F(OpenRunTest, NameComesFromTheFolderHoweverItIsWritten) {
  EXPECT_EQ(open_run({folder() / ""})->name, "run1");
  EXPECT_EQ(open_run({folder() / "."})->name, "run1");
  EXPECT_EQ(open_run({trace(0)})->name, "run1");
}

TEST_F(OpenRunTest, FileNamesDoNotMatter) {
  fs::rename(trace(0), folder() / "zzz.dprof");
  fs::rename(trace(1), trace(0));
  const auto run = open_run({folder()});
  ASSERT_EQ(run->traces.size(), 3U);
  EXPECT_EQ(run->traces[0].path.filename(), "zzz.dprof");
  EXPECT_EQ(run->traces[1].path.filename(), "rank-00000.dprof");
}

TEST_F(OpenRunTest, OtherFilesInTheFolderAreNone) {
  write_text(folder() / "report.txt", "a report");
  const auto run = open_run({folder()});
  EXPECT_FALSE(run->damaged);
  EXPECT_EQ(run->traces.size(), 3U);
}

TEST_F(OpenRunTest, EmptyFile) {
  write_text(trace(1), "");
  expect_named_and_left_out("empty");
}

TEST_F(OpenRunTest, TextFile) {
  write_text(trace(1),
             "rank 1 was here, and it is longer than a header of SQLite would need to be");
  expect_named_and_left_out("not an SQLite file");
}

TEST_F(OpenRunTest, FileOfAnotherProgram) {
  execute(trace(1), "PRAGMA application_id = 1234");
  expect_named_and_left_out("another program");
}

TEST_F(OpenRunTest, NewerSchema) {
  execute(trace(1), "PRAGMA user_version = 4711");
  expect_named_and_left_out("schema version 4711");
}

TEST_F(OpenRunTest, MissingColumn) {
  execute(trace(1), "DROP VIEW IF EXISTS host_range_text");
  execute(trace(1), "ALTER TABLE host_range RENAME COLUMN name_id TO title_id");
  expect_named_and_left_out("host_range");
}

TEST_F(OpenRunTest, UnknownColumnDoesNotHurt) {
  execute(trace(1), "ALTER TABLE host_range ADD COLUMN mood INTEGER");
  const auto run = open_run({folder()});
  EXPECT_FALSE(run->damaged);
  EXPECT_EQ(run->traces.size(), 3U);
}

TEST_F(OpenRunTest, TruncatedFileIsNamedByTheAnalysisAtTheLatest) {
  fs::resize_file(trace(1), fs::file_size(trace(1)) / 2);
  const auto run = open_run({folder()});
  ASSERT_TRUE(run.ok());
  const Result<Analysis> analysis = analyze(*run);
  ASSERT_TRUE(analysis.ok());
  EXPECT_TRUE(analysis->damaged);
  EXPECT_EQ(analysis->report.run.ranks, 2);
  const auto& diagnostics = analysis->report.recording.diagnostics;
  const auto found = std::ranges::find(diagnostics, "unreadable_trace", &Diagnostic::code);
  ASSERT_NE(found, diagnostics.end());
  EXPECT_THAT(found->text, HasSubstr("rank-00001.dprof"));
}

TEST_F(OpenRunTest, MissingRankAndMissingIndex) {
  fs::remove(trace(2));
  fs::remove(folder() / "run.json");
  const auto run = open_run({folder()});
  ASSERT_TRUE(run.ok());
  EXPECT_FALSE(run->damaged);
  EXPECT_THAT(run_codes(*run), Contains("absent_rank"));
  EXPECT_THAT(run_codes(*run), Contains("no_run_json"));
}

TEST_F(OpenRunTest, UnreadableIndexIsNoMoreThanARemark) {
  write_text(folder() / "run.json", "{ not json");
  const auto run = open_run({folder()});
  ASSERT_TRUE(run.ok());
  EXPECT_FALSE(run->damaged);
  EXPECT_THAT(run_codes(*run), Contains("no_run_json"));
}

TEST_F(OpenRunTest, LastTraceOfARankCounts) {
  fs::copy_file(trace(1), folder() / "older.dprof");
  execute(trace(1), "UPDATE meta SET value = '1' WHERE key = 'restart_count'");
  const auto run = open_run({folder()});
  ASSERT_EQ(run->traces.size(), 3U);
  EXPECT_EQ(run->traces[1].path.filename(), "rank-00001.dprof");
  EXPECT_THAT(run_codes(*run), Contains("several_traces"));
}

TEST_F(OpenRunTest, ATraceThatTrainedBeatsALaterOneThatDidNot) {
  fs::copy_file(trace(1), folder() / "worker.dprof");
  execute(folder() / "worker.dprof", "DELETE FROM step");
  execute(folder() / "worker.dprof", "UPDATE meta SET value = '9' WHERE key = 'restart_count'");
  EXPECT_EQ(open_run({folder()})->traces[1].path.filename(), "rank-00001.dprof");
}

TEST_F(OpenRunTest, UnfinishedTraceIsSaid) {
  execute(trace(0), "DELETE FROM meta WHERE key = 'ended'");
  const auto run = open_run({folder()});
  EXPECT_EQ(run->traces[0].ended, "");
  EXPECT_THAT(run_codes(*run), Contains("unfinished_trace"));
}

TEST_F(OpenRunTest, ProcessWithoutRankIsNoRankAmongOthers) {
  fs::copy_file(trace(1), folder() / "launcher.dprof");
  execute(folder() / "launcher.dprof", "DELETE FROM meta WHERE key = 'rank'");
  EXPECT_EQ(open_run({folder()})->traces.size(), 3U);
  const auto alone = open_run({folder() / "launcher.dprof"});
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone->traces[0].rank, 0);
}

TEST_F(OpenRunTest, WithoutRanksWhatDidNoStepIsNone) {
  for (int rank = 0; rank < 3; ++rank)
    execute(trace(rank), "DELETE FROM meta WHERE key IN ('rank', 'world_size')");
  EXPECT_EQ(open_run({folder()})->traces.size(), 3U);
  execute(trace(0), "DELETE FROM step");
  const auto run = open_run({folder()});
  ASSERT_EQ(run->traces.size(), 2U);
  EXPECT_EQ(run->traces[0].rank, 0);
  EXPECT_EQ(run->traces[0].path, trace(1));
  EXPECT_EQ(run->others.size(), 1U);
  for (int rank = 1; rank < 3; ++rank) execute(trace(rank), "DELETE FROM step");
  EXPECT_EQ(open_run({folder()})->traces.size(), 3U) << "steps distinguish none of them";
}

TEST_F(OpenRunTest, FoldersOfOneRunAreOneRun) {
  const fs::path other = home_.path() / "run1-node-b";
  fs::create_directory(other);
  fs::rename(trace(2), other / "rank-00002.dprof");
  const auto run = open_run({folder(), other});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->traces.size(), 3U);
  EXPECT_EQ(run->name, "run1");
}

TEST_F(OpenRunTest, RecordersOfOneHostDifferByWhereTheyStarted) {
  execute(trace(1), "UPDATE meta SET value = value + 2500 WHERE key = 'origin_monotonic_raw_ns'");
  const auto run = open_run({folder()});
  EXPECT_EQ(run->traces[0].shift_ns, 0);
  EXPECT_EQ(run->traces[1].shift_ns, 2500);
}

TEST_F(OpenRunTest, TwoRunsAreNotOne) {
  execute(trace(1), "UPDATE meta SET value = 'another' WHERE key = 'run_id'");
  const auto run = open_run({folder()});
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, Code::kUsage);
}

TEST_F(OpenRunTest, NothingReadableIsTheFirstFilesError) {
  for (int rank = 0; rank < 3; ++rank) write_text(trace(rank), "");
  const auto run = open_run({folder()});
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, Code::kNotATrace);
  EXPECT_THAT(run.error().what, HasSubstr("rank-00000.dprof"));
  EXPECT_FALSE(run.error().hint.empty());
}

TEST_F(OpenRunTest, PathsThatAreNotThere) {
  const auto nowhere = open_run({home_.path() / "nowhere"});
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().code, Code::kNotFound);
  fs::create_directory(home_.path() / "void");
  const auto empty = open_run({home_.path() / "void"});
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().code, Code::kNotFound);
  EXPECT_EQ(open_run({}).error().code, Code::kUsage);
}

// The run's diagnostic of that code; an empty one if none.
Diagnostic of_code(const Run& run, std::string_view code) {
  const auto found = std::ranges::find(run.diagnostics, code, &Diagnostic::code);
  return found == run.diagnostics.end() ? Diagnostic() : *found;
}

TEST_F(OpenRunTest, TracesThatAreOnANodesDiskAreCounted) {
  write_text(
      folder() / "node-a-7.local",
      R"({"schema":"dprof.local/1","host":"node-a","folder":"/not/here","traces":2,"why":"no room"})");
  auto run = open_run({folder()});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(of_code(*run, "traces_left").count, 2);
  EXPECT_THAT(of_code(*run, "traces_left").text,
              StartsWith("2 traces on node-a, in /not/here: no room; hint: once"));
  write_text(folder() / "node-a-7.local",
             R"({"schema":"dprof.local/1","host":"node-a","folder":"/not/here"})");
  EXPECT_THAT(of_code(*open_run({folder()}), "traces_left").text,
              StartsWith("traces on node-a, in /not/here; hint: "));

  // On that node the folder itself gives the count.
  const fs::path disk = home_.path() / "disk";
  fs::create_directory(disk);
  write_text(folder() / "node-a-7.local",
             R"({"schema":"dprof.local/1","host":"node-a","folder":")" + disk.string() +
                 R"(","traces":2})");
  EXPECT_THAT(run_codes(*open_run({folder()})), Not(Contains("traces_left")));
  write_text(disk / "rank-00007.dprof", "a trace");
  EXPECT_THAT(of_code(*open_run({folder()}), "traces_left").text,
              StartsWith("1 trace on node-a, in " + disk.string() + "; hint: "));
}

TEST_F(OpenRunTest, AFolderWhoseTracesAreAllOnADiskSaysWhere) {
  for (int rank = 0; rank < 3; ++rank) fs::remove(trace(rank));
  for (const char* name : {"a-1.local", "b-1.local"}) {
    write_text(folder() / name,
               R"({"schema":"dprof.local/1","host":"node-a","folder":"/not/here"})");
  }
  const auto run = open_run({folder()});
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().what, HasSubstr("they are on node-a, in /not/here, and on 1 disk more"));
  EXPECT_THAT(run.error().hint, HasSubstr("dprof recover"));
}

TEST_F(OpenRunTest, WhatIsNoNoteIsPassedOver) {
  write_text(folder() / "a.local", "");
  write_text(folder() / "b.local", R"({"schema":"dprof.local/1","host":7,"folder":{}})");
  write_text(folder() / "c.local", R"({"schema":"dprof.local/1","folder":"not/absolute"})");
  write_text(folder() / "d.local", R"({"schema":"another","folder":"/a"})");
  write_text(folder() / "e.local", std::string(100'000, '['));
  fs::create_directory(folder() / "f.local");
  EXPECT_TRUE(open_run({folder()})->diagnostics.empty());
}

TEST_F(OpenRunTest, RecordersThatDidNotUseTheLocalDiskAreCounted) {
  write_text(folder() / "run.json",
             R"({"diagnostics":[{"code":"not_local","text":"node-a-7: /x: no room"},7,)"
             R"({"code":"signal","text":"SIGINT"},{"code":"not_local","text":{}}]})");
  const Diagnostic said = of_code(*open_run({folder()}), "not_local");
  EXPECT_EQ(said.count, 2);
  EXPECT_THAT(said.text, StartsWith("node-a-7: /x: no room (and 1 more); hint: the text says why"));
  write_text(folder() / "run.json", R"({"diagnostics":{"code":"not_local"}})");
  EXPECT_TRUE(open_run({folder()})->diagnostics.empty());
}

TEST_F(OpenRunTest, WhyProcessesHaveNoTraceIsInTheIndexAlone) {
  write_text(
      folder() / "run.json",
      R"({"diagnostics":[{"code":"wire_version","text":"process 7: its libdprof.so is old"},)"
      R"({"code":"no_peers","text":"no other recorder"},{"code":"hang","text":"a hang"}]})");
  const auto run = *open_run({folder()});
  EXPECT_THAT(run_codes(run), testing::UnorderedElementsAre("wire_version", "no_peers"));
  EXPECT_THAT(of_code(run, "wire_version").text,
              StartsWith("process 7: its libdprof.so is old; hint: use dprof and libdprof.so"));
}

TEST_F(OpenRunTest, AProcessWithoutARankThatTrainedIsLeftOutAndSaid) {
  execute(trace(2), "DELETE FROM meta WHERE key IN ('rank', 'world_size')");
  const auto run = *open_run({folder()});
  EXPECT_EQ(run.traces.size(), 2U);
  EXPECT_EQ(run.others.size(), 1U);
  EXPECT_THAT(of_code(run, "left_out").text, StartsWith("rank-00002.dprof: no rank of the job"));
}

TEST_F(OpenRunTest, ALauncherIsLeftOutInSilence) {
  execute(trace(2),
          "DELETE FROM meta WHERE key IN ('rank', 'world_size'); DELETE FROM step;"
          "DELETE FROM _collective; DELETE FROM _gpu_activity");
  EXPECT_THAT(run_codes(*open_run({folder()})), Not(Contains("left_out")));
}

TEST_F(OpenRunTest, ATraceThatHasJustBegunIsOfNoOtherRun) {
  execute(trace(0), "DELETE FROM meta WHERE key IN ('run_id', 'ended')");
  EXPECT_TRUE(open_run({folder()}).ok());
  execute(trace(1), "UPDATE meta SET value = 'another' WHERE key = 'run_id'");
  const auto run = open_run({folder()});
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().what, HasSubstr("are of different runs"));
}

}  // namespace
}  // namespace dprof::analyzer
