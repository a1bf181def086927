// SPDX-License-Identifier: Apache-2.0
// `dprof record` and `dprof recover` with real processes.
#include <gmock/gmock.h>

#include "cli/test_support/recording.h"
#include "schema/trace_reader.h"

namespace dprof::cli {
namespace {

namespace fs = std::filesystem;
using schema::TraceReader;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// --- the launcher ---

// 0 would promise a recording.
TEST(LauncherTest, ReturnsTheCommandsCodeBut5WhereNothingWasRecorded) {
  const TemporaryFolder scratch;
  EXPECT_EQ(run_dprof(scratch, shell({"-o", "a"}, "exit 0")).code, 5);
  EXPECT_EQ(run_dprof(scratch, shell({"-o", "b"}, "exit 7")).code, 7);
  EXPECT_EQ(run_dprof(scratch, shell({"-o", "c"}, "kill -9 $$")).code, 128 + 9);
  EXPECT_EQ(run_dprof(scratch, shell({"-n", "2", "-o", "d"}, "exit 0")).code, 5);
}

TEST(LauncherTest, ACommandThatIsNotThereLeavesNothing) {
  const TemporaryFolder scratch;
  const Ended ended = run_dprof(scratch, {"record", "-o", "r", "--", "no-such-command"});
  EXPECT_EQ(ended.code, 127);
  EXPECT_THAT(ended.err, HasSubstr("no-such-command"));
  EXPECT_THAT(ended.err, HasSubstr("hint: "));
  EXPECT_FALSE(fs::exists(scratch.path() / "r"));
  EXPECT_EQ(run_dprof(scratch, {"record", "-o", "r", "--", "/etc/passwd"}).code, 126);
}

TEST(LauncherTest, LeavesASingleCommandsOutputAlone) {
  const TemporaryFolder scratch;
  const Ended ended =
      run_dprof(scratch, shell({"-o", "r"}, "printf 'no line end'; printf error >&2"));
  EXPECT_EQ(ended.out, "no line end");
  EXPECT_THAT(ended.err, HasSubstr("error"));
}

TEST(LauncherTest, PrefixesTheLinesOfRanksAndSetsTheirVariables) {
  const TemporaryFolder scratch;
  const Ended ended =
      run_dprof(scratch, shell({"-n", "2", "-o", "r"},
                               "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR; "
                               "printf tail; echo on stderr >&2"));
  EXPECT_EQ(ended.code, 5);
  EXPECT_THAT(ended.out, HasSubstr("[0] 0 0 2 2 127.0.0.1\n"));
  EXPECT_THAT(ended.out, HasSubstr("[1] 1 1 2 2 127.0.0.1\n"));
  EXPECT_THAT(ended.out, HasSubstr("[0] tail\n"));
  EXPECT_THAT(ended.err, HasSubstr("[1] on stderr\n"));
  EXPECT_THAT(ended.out, Not(HasSubstr("on stderr")));
}

TEST(LauncherTest, TheFirstFailingRankEndsTheOthers) {
  const TemporaryFolder scratch;
  const auto start = std::chrono::steady_clock::now();
  const Ended ended = run_dprof(
      scratch, shell({"-n", "3", "-o", "r"}, "if [ $RANK = 1 ]; then exit 9; fi; exec sleep 60"));
  EXPECT_EQ(ended.code, 9);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(LauncherTest, ARankThatIgnoresTheRequestIsKilled) {
  const TemporaryFolder scratch;
  const Ended ended =
      run_dprof(scratch, shell({"-n", "2", "-o", "r"},
                               "if [ $RANK = 1 ]; then sleep 0.2; exit 9; fi; trap '' TERM; "
                               "while true; do sleep 0.05; done"));
  EXPECT_EQ(ended.code, 9);
}

TEST(LauncherTest, HandsSignalsOnAndWaits) {
  const TemporaryFolder scratch;
  std::vector<std::string> arguments = shell({"-n", "2", "-o", "r"},
                                             "trap 'echo got it; exit 3' TERM; echo ready; "
                                             "while true; do sleep 0.05; done");
  arguments.insert(arguments.begin(), kDprof);
  Running running(scratch, arguments);
  ASSERT_TRUE(running.wait_for_output("[0] ready"));
  ASSERT_TRUE(running.wait_for_output("[1] ready"));
  running.send(SIGTERM);
  EXPECT_EQ(running.wait(), 3);
  EXPECT_THAT(running.out(), HasSubstr("[0] got it\n"));
  EXPECT_THAT(running.out(), HasSubstr("[1] got it\n"));
}

TEST(LauncherTest, ASecondSignalFinishesAtOnce) {
  const TemporaryFolder scratch;
  // Signals ignored by a shell are ignored by its children, too.
  std::vector<std::string> arguments =
      shell({"-n", "2", "-o", "r"},
            "trap '' INT TERM; exec " + kWriter + " hello ranges=10 print=ready sleep=60000");
  arguments.insert(arguments.begin(), kDprof);
  Running running(scratch, arguments);
  ASSERT_TRUE(running.wait_for_output("[0] ready"));
  ASSERT_TRUE(running.wait_for_output("[1] ready"));
  running.send(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  running.send(SIGINT);
  EXPECT_EQ(running.wait(), 128 + SIGINT);
  EXPECT_THAT(files_in(scratch.path() / "r"),
              UnorderedElementsAre("rank-00000.dprof", "rank-00001.dprof", "run.json"));
}

TEST(LauncherTest, WhatIsNoEndIsHandedOnAndNotCounted) {
  const TemporaryFolder scratch;
  std::vector<std::string> arguments =
      shell({"-n", "1", "-o", "r"},
            "trap 'echo usr1' USR1; trap 'echo usr2' USR2; trap 'echo cont' CONT; "
            "trap 'echo quit' QUIT; trap 'echo bye; exit 0' TERM; echo ready; "
            "while true; do sleep 0.05; done");
  arguments.insert(arguments.begin(), kDprof);
  Running running(scratch, arguments);
  ASSERT_TRUE(running.wait_for_output("[0] ready"));
  for (const auto& [signal, word] : {std::pair(SIGUSR1, "usr1"), std::pair(SIGUSR2, "usr2"),
                                     std::pair(SIGCONT, "cont"), std::pair(SIGQUIT, "quit")}) {
    running.send(signal);
    EXPECT_TRUE(running.wait_for_output(word)) << word;
  }
  running.send(SIGTERM);
  EXPECT_EQ(running.wait(), 5);
  EXPECT_THAT(running.out(), HasSubstr("[0] bye"));
  const std::string written = index_of(scratch.path() / "r").dump();
  EXPECT_THAT(written, HasSubstr("SIGUSR1 after"));
  EXPECT_THAT(written, HasSubstr("SIGTERM after"));
}

TEST(LauncherTest, ASecondRequestToEndLeavesTheCommandItsTime) {
  const TemporaryFolder scratch;
  std::vector<std::string> arguments = shell(
      {"-n", "1", "-o", "r"},
      "trap 'sleep 0.7; echo saved; exit 4' TERM; echo ready; while true; do sleep 0.05; done");
  arguments.insert(arguments.begin(), kDprof);
  Running running(scratch, arguments);
  ASSERT_TRUE(running.wait_for_output("[0] ready"));
  running.send(SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  running.send(SIGTERM);
  EXPECT_EQ(running.wait(), 4);
  EXPECT_THAT(running.out(), HasSubstr("[0] saved"));
}

TEST(LauncherTest, WhatWasIgnoredFromTheStartStaysSo) {
  const TemporaryFolder scratch;
  Running running(scratch, {"/bin/sh", "-c",
                            "trap '' HUP; exec " + kDprof +
                                " record -n 1 -o r -- sh -c 'echo ready; sleep 1; echo done'"});
  ASSERT_TRUE(running.wait_for_output("[0] ready"));
  running.send(SIGHUP);
  running.send(SIGHUP);
  EXPECT_EQ(running.wait(), 5);
  EXPECT_THAT(running.out(), HasSubstr("[0] done"));
  EXPECT_THAT(index_of(scratch.path() / "r").dump(), Not(HasSubstr("SIGHUP")));
}

// Otherwise the ranks would block once their pipes are full.
TEST(LauncherTest, TheCarrierOfOutputIsStartedAgain) {
  const TemporaryFolder scratch;
  const std::string many =
      "i=0; while [ $i -lt 4000 ]; do echo 0123456789012345678901234567890123456789; "
      "i=$((i+1)); done; ";
  std::vector<std::string> arguments =
      shell({"-n", "1", "-o", "r"}, "echo ready; sleep 0.5; " + many + "echo last");
  arguments.insert(arguments.begin(), kDprof);
  Running running(scratch, arguments);
  ASSERT_TRUE(running.wait_for_output("[0] ready"));
  ASSERT_EQ(kill(child_named(running, "dprof-output"), SIGKILL), 0);
  EXPECT_EQ(running.wait(), 5);
  EXPECT_THAT(running.out(), HasSubstr("[0] last"));
  EXPECT_THAT(index_of(scratch.path() / "r").dump(), HasSubstr("output_carrier"));
}

// --- recording ---

// A daemon that the command leaves behind.
TEST(RecordTest, AProcessThatOutlivesTheCommandIsLeftInTime) {
  const TemporaryFolder scratch;
  const Ended ended =
      run_dprof(scratch, shell({"-o", "r", "--linger", "1"},
                               "setsid " + kWriter +
                                   " hello ranges=10 print=ready sleep=600000 </dev/null >said "
                                   "2>/dev/null & while ! [ -s said ]; do sleep 0.05; done"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("outlived"));
  EXPECT_THAT(ended.err, HasSubstr("10 events, 0 lost"));
  const Result<TraceReader> trace = TraceReader::open(scratch.path() / "r/rank-00000.dprof");
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(trace->meta("ended"), "left") << "nobody knows what it did later";
  const auto daemon = static_cast<pid_t>(trace->meta_int("pid").value_or(0));
  ASSERT_GT(daemon, 0);
  EXPECT_EQ(kill(daemon, SIGKILL), 0) << "it lives on";
}

TEST(RecordTest, AProcessOfAnotherClockIsTurnedAway) {
  const TemporaryFolder scratch;
  const Ended ended = run_dprof(
      scratch, shell({"-o", "r"}, "DPROF_CLOCK= exec " + kWriter + " hello ranges=10 sleep=300"));
  EXPECT_THAT(ended.err, HasSubstr("other_clock"));
  EXPECT_EQ(ended.code, 5);
}

// Each process takes several; the job keeps the limit that the user set.
TEST(RecordTest, ALowLimitOfOpenFilesIsRaisedForTheRecorderAlone) {
  const TemporaryFolder scratch;
  Running running(scratch,
                  {"/bin/sh", "-c",
                   "ulimit -Sn 32; exec " + kDprof + " record -n 12 -o r -- sh -c '" +
                       "ulimit -Sn; exec " + kWriter + " hello ranges=10 sleep=1000 clean'"});
  EXPECT_EQ(running.wait(), 0) << running.err();
  EXPECT_THAT(running.out(), HasSubstr("[11] 32\n"));
  EXPECT_THAT(running.err(), HasSubstr("120 events, 0 lost"));
}

TEST(RecordTest, AFileOfARecorderThatMakesNoSenseEndsNothing) {
  const TemporaryFolder scratch;
  const Ended ended =
      run_dprof(scratch, shell({"-o", "r"}, "echo '{\"schema\":5}' > r/recorders/odd.json; exec " +
                                                kWriter + " hello ranges=10 sleep=1500 clean"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("10 events, 0 lost"));
}

TEST(RecordTest, EachRankBecomesATrace) {
  const TemporaryFolder scratch;
  const Ended ended = run_dprof(
      scratch, record({"-n", "2", "-o", "r"}, {"hello", "ranges=100", "steps=3", "clean"}));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("recorded 2 ranks, 206 events, 0 lost"));
  EXPECT_THAT(ended.err, HasSubstr("next: dprof report r"));
  EXPECT_THAT(files_in(scratch.path() / "r"),
              UnorderedElementsAre("rank-00000.dprof", "rank-00001.dprof", "run.json"));
  const nlohmann::json index = index_of(scratch.path() / "r");
  EXPECT_EQ(index["schema"], "dprof.run/1");
  EXPECT_EQ(index["world_size"], 2);
  EXPECT_THAT(index["traces"], SizeIs(2));
  for (int rank = 0; rank < 2; ++rank) {
    const Result<TraceReader> trace = TraceReader::open(
        scratch.path() / "r" / index["traces"][static_cast<size_t>(rank)]["file"]);
    ASSERT_TRUE(trace.ok()) << trace.error().what;
    EXPECT_EQ(trace->meta_int("rank"), rank);
    EXPECT_EQ(trace->meta_int("world_size"), 2);
    EXPECT_EQ(trace->meta("launcher"), "dprof");
    EXPECT_EQ(trace->meta("ended"), "complete");
    EXPECT_EQ(trace->meta("exit_status"), "exit:0");
    EXPECT_EQ(trace->meta("command"), "writer");
    EXPECT_EQ(trace->meta("run_id"), index["id"].get<std::string>());
    EXPECT_EQ(trace->meta_int("records"), 206);
    EXPECT_EQ(*trace->count("host_range"), 103);
    EXPECT_EQ(*trace->count("step"), 3);
    EXPECT_GE(*trace->count("clock_sample"), 1);
    EXPECT_GE(trace->meta_int("first_event_ns").value_or(-1), 0);
  }
}

TEST(RecordTest, AKilledRankLosesNothing) {
  const TemporaryFolder scratch;
  const Ended ended =
      run_dprof(scratch, record({"-o", "r"}, {"hello", "ranges=50000", "open", "signal=9"}));
  EXPECT_EQ(ended.code, 128 + 9);
  const Result<TraceReader> trace = TraceReader::open(scratch.path() / "r/rank-00000.dprof");
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(trace->meta("ended"), "process_killed");
  EXPECT_EQ(trace->meta("exit_status"), "signal:9");
  EXPECT_EQ(*trace->count("host_range"), 50001);
  EXPECT_EQ(*trace->count("loss"), 0);
  EXPECT_EQ(trace->read_all<schema::HostRangeRow>("duration_ns IS NULL")->size(), 1u);
  EXPECT_EQ(trace->read_all<schema::DiagnosticRow>()->at(0).code, "process_killed");
}

TEST(RecordTest, AFullRingIsSaidAndIsFive) {
  const TemporaryFolder scratch;
  const Ended ended =
      run_dprof(scratch, record({"-o", "r"}, {"overflow=123", "hello", "sleep=50", "clean"}));
  EXPECT_EQ(ended.code, 5);
  EXPECT_THAT(ended.err, HasSubstr("123 lost"));
  const Result<TraceReader> trace = TraceReader::open(scratch.path() / "r/rank-00000.dprof");
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  const auto losses = *trace->read_all<schema::LossRow>();
  ASSERT_THAT(losses, SizeIs(1));
  EXPECT_EQ(losses[0].reason, schema::LossReason::kRingFull);
  EXPECT_EQ(losses[0].count, 123);
  EXPECT_LE(losses[0].first_ns, losses[0].last_ns);
}

TEST(RecordTest, TheCommandsOwnCodeWinsOverALoss) {
  const TemporaryFolder scratch;
  EXPECT_EQ(run_dprof(scratch, record({"-o", "r"}, {"overflow=1", "hello", "exit=4"})).code, 4);
}

TEST(RecordTest, AProgramThatClosesAllDescriptorsIsStillRecorded) {
  const TemporaryFolder scratch;
  const Ended ended = run_dprof(
      scratch, record({"-o", "r"}, {"hello", "sleep=100", "close", "sleep=100", "ranges=10"}));
  EXPECT_EQ(ended.code, 0) << ended.err;
  const Result<TraceReader> trace = TraceReader::open(scratch.path() / "r/rank-00000.dprof");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(*trace->count("host_range"), 10);
}

// The launcher has gone; the process that it left behind is still being recorded.
TEST(RecordTest, StaysUntilTheLastRecordedProcessHasEnded) {
  const TemporaryFolder scratch;
  const Ended ended = run_dprof(
      scratch,
      shell({"-o", "r"}, "(" + kWriter + " hello sleep=500 ranges=10 clean &) ; sleep 0.2"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  const Result<TraceReader> trace = TraceReader::open(scratch.path() / "r/rank-00000.dprof");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(*trace->count("host_range"), 10);
  EXPECT_EQ(trace->meta("ended"), "complete");
}

TEST(RecordTest, ASecondProcessOfARankGetsASuffix) {
  const TemporaryFolder scratch;
  const std::string once = kWriter + " hello ranges=5 clean";
  const Ended ended =
      run_dprof(scratch, shell({"-o", "r"}, "export RANK=3 WORLD_SIZE=4; " + once + "; " + once));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(files_in(scratch.path() / "r"),
              UnorderedElementsAre("rank-00003.dprof", "rank-00003.1.dprof", "run.json"));
}

// torchrun's agent, shells, loader workers: they say hello and record nothing.
TEST(RecordTest, ProcessesWithoutRankOrEventLeaveNoTrace) {
  const TemporaryFolder scratch;
  const Ended ended =
      run_dprof(scratch, shell({"-o", "r"}, kWriter + " hello clean; RANK=0 WORLD_SIZE=1 " +
                                                kWriter + " hello ranges=5 clean"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(files_in(scratch.path() / "r"), UnorderedElementsAre("rank-00000.dprof", "run.json"));
}

TEST(RecordTest, ARankThatWasExpectedAndNeverSeenIsNamed) {
  const TemporaryFolder scratch;
  const Ended ended =
      run_dprof(scratch, shell({"-n", "2", "-o", "r"}, "if [ $RANK = 0 ]; then exec " + kWriter +
                                                           " hello ranges=5 clean; fi"));
  EXPECT_EQ(ended.code, 5);
  EXPECT_THAT(ended.err, HasSubstr("missing_rank"));
  EXPECT_EQ(index_of(scratch.path() / "r")["diagnostics"][0]["code"], "missing_rank");
}

TEST(RecordTest, SaysWhyAProcessRecordedNothing) {
  const TemporaryFolder scratch;
  const Ended newer = run_dprof(scratch, record({"-o", "a"}, {"hello-newer"}));
  EXPECT_THAT(newer.err, HasSubstr("wire_version"));
  const Ended no_memory = run_dprof(scratch, record({"-o", "b"}, {"hello-no-memory"}));
  EXPECT_THAT(no_memory.err, HasSubstr("memory_limit"));
  const Ended nothing = run_dprof(scratch, shell({"-o", "c"}, "true"));
  EXPECT_THAT(nothing.err, HasSubstr("no_process"));
  EXPECT_EQ(nothing.code, 5);
}

TEST(RecordTest, RefusesTheFolderOfAnotherRun) {
  const TemporaryFolder scratch;
  const auto once = record({"-o", "r"}, {"hello", "ranges=5", "clean"});
  EXPECT_EQ(run_dprof(scratch, once).code, 0);
  const Ended again = run_dprof(scratch, once);
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("--overwrite"));
  const auto overwrite = record({"-o", "r", "--overwrite"}, {"hello", "ranges=6", "clean"});
  EXPECT_EQ(run_dprof(scratch, overwrite).code, 0);
  EXPECT_EQ(*TraceReader::open(scratch.path() / "r/rank-00000.dprof")->count("host_range"), 6);
}

TEST(RecordTest, NamesTheFolderAfterTheTime) {
  const TemporaryFolder scratch;
  EXPECT_EQ(run_dprof(scratch, record({}, {"hello", "ranges=5", "clean"})).code, 0);
  bool found = false;
  for (const std::string& name : files_in(scratch.path())) {
    found |=
        name.starts_with("dprof-2") && name.size() == std::string("dprof-20260131-235959").size();
  }
  EXPECT_TRUE(found);
}

// --- recovery ---

class RecoverTest : public ::testing::Test {
 protected:
  // Kills the recorder once it has committed something; the recorded process goes on.
  void record_and_kill() {
    std::vector<std::string> arguments =
        record({"-o", "r"}, {"hello", "ranges=1000", "sleep=600", "print=ready", "sleep=60000"});
    arguments.insert(arguments.begin(), kDprof);
    Running running(scratch_, arguments);
    ASSERT_TRUE(running.wait_for_output("ready"));
    ASSERT_EQ(kill(recorder_of(running), SIGKILL), 0);
    while (recorder_of(running) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    running.send(SIGTERM);  // to the command, which lives on
    EXPECT_EQ(running.wait(), 128 + SIGTERM);
  }
  TemporaryFolder scratch_;
};

TEST_F(RecoverTest, FinishesWhatAKilledRecorderLeft) {
  record_and_kill();
  const Ended recovered = run_dprof(scratch_, {"recover", "r"});
  EXPECT_EQ(recovered.code, 5) << recovered.err;
  EXPECT_THAT(files_in(scratch_.path() / "r"),
              UnorderedElementsAre("rank-00000.dprof", "run.json"));
  const Result<TraceReader> trace = TraceReader::open(scratch_.path() / "r/rank-00000.dprof");
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(*trace->count("host_range"), 1000);
  EXPECT_EQ(*trace->count("host_range_text"), 1000) << "the views are there";
  EXPECT_EQ(trace->meta("ended"), "recovered");
  EXPECT_EQ(trace->meta_int("rank"), 0);
  const auto losses = *trace->read_all<schema::LossRow>();
  ASSERT_THAT(losses, SizeIs(1));
  EXPECT_EQ(losses[0].reason, schema::LossReason::kRecorderKilled);
  const nlohmann::json index = index_of(scratch_.path() / "r");
  EXPECT_EQ(index["traces"][0]["file"], "rank-00000.dprof");
  EXPECT_EQ(index["traces"][0]["ended"], "recovered");
  EXPECT_THAT(index["command"].get<std::string>(), HasSubstr("recorder_writer"));

  const std::string before = text_of(scratch_.path() / "r/rank-00000.dprof");
  EXPECT_EQ(run_dprof(scratch_, {"recover", "r"}).code, 0) << "nothing more to do";
  EXPECT_EQ(text_of(scratch_.path() / "r/rank-00000.dprof"), before);
}

TEST_F(RecoverTest, RefusesARunThatIsBeingRecorded) {
  std::vector<std::string> arguments = record({"-o", "r"}, {"hello", "print=ready", "sleep=60000"});
  arguments.insert(arguments.begin(), kDprof);
  Running running(scratch_, arguments);
  ASSERT_TRUE(running.wait_for_output("ready"));
  const TemporaryFolder elsewhere;
  EXPECT_EQ(run_dprof(elsewhere, {"recover", scratch_.file("r")}).code, 2);
  running.send(SIGTERM);
  EXPECT_EQ(running.wait(), 128 + SIGTERM);
}

TEST_F(RecoverTest, SaysWhatItCannotFinish) {
  EXPECT_EQ(run_dprof(scratch_, {"recover", "nowhere"}).code, 3);
  fs::create_directory(scratch_.path() / "empty");
  EXPECT_EQ(run_dprof(scratch_, {"recover", "empty"}).code, 3);
  fs::create_directory(scratch_.path() / "bad");
  std::ofstream(scratch_.path() / "bad/host-1-2.dprof") << "this is no database, not at all";
  const Ended bad = run_dprof(scratch_, {"recover", "bad"});
  EXPECT_EQ(bad.code, 3);
  EXPECT_THAT(bad.err, HasSubstr("host-1-2.dprof"));
}

}  // namespace
}  // namespace dprof::cli
