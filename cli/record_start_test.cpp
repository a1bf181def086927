// SPDX-License-Identifier: Apache-2.0
// How a recording starts: the command runs in any case, and files that are not dprof's stay
// unchanged.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include "cli/test_support/recording.h"
#include "schema/trace_reader.h"

namespace dprof::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RecordStartTest, TheCommandRunsWhereNothingCanBeRecorded) {
  const TemporaryFolder scratch;
  const Ended ended =
      run_dprof(scratch, shell({"-o", "/proc/no/run"}, "echo trained; exec " + kWriter));
  EXPECT_EQ(ended.out, "trained\n");
  EXPECT_EQ(ended.code, 5) << "nothing is recorded";
  EXPECT_THAT(ended.err, HasSubstr("the command runs unrecorded"));
  EXPECT_THAT(ended.err, HasSubstr("not_recorded"));
  // The failing rank ends the other, too, but only after that has printed its line.
  const Ended ranks =
      run_dprof(scratch, shell({"-n", "2", "-o", "/proc/no/run"},
                               "if [ $RANK = 0 ]; then echo 0; touch said; else "
                               "until [ -e said ]; do sleep 0.01; done; exit 7; fi"));
  EXPECT_EQ(ranks.code, 7) << "the command's own code";
  EXPECT_THAT(ranks.out, HasSubstr("[0] 0\n"));
}

TEST(RecordStartTest, AnUnrecordedCommandGetsItsSignals) {
  const TemporaryFolder scratch;
  std::vector<std::string> arguments =
      shell({"-o", "/proc/no/run"},
            "trap 'echo saved; exit 4' TERM; echo ready; while true; do sleep 0.05; done");
  arguments.insert(arguments.begin(), kDprof);
  Running running(scratch, arguments);
  ASSERT_TRUE(running.wait_for_output("ready"));
  running.send(SIGTERM);
  EXPECT_EQ(running.wait(), 4);
  EXPECT_THAT(running.out(), HasSubstr("saved"));
}

TEST(RecordStartTest, OtherToolsAreNamedOnceAtTheStart) {
  if (!fs::exists(kDprof.substr(0, kDprof.rfind("/bin/")) + "/lib/libdprof.so")) {
    GTEST_SKIP() << "this build has no libdprof.so that could take their place";
  }
  const TemporaryFolder scratch;
  const std::vector<std::string> command = {
      kDprof, "record", "-o", "r",
      "--",   "sh",     "-c", "echo nvtx=$NVTX_INJECTION64_PATH nccl=$NCCL_PROFILER_PLUGIN"};
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"/usr/bin/env", "NVTX_INJECTION64_PATH=/opt/nsys.so",
                                          "NCCL_PROFILER_PLUGIN=inspector"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    arguments.insert(arguments.begin() + 5, more.begin(), more.end());
    Running running(scratch, arguments);
    EXPECT_EQ(running.wait(), 5);
    fs::remove_all(scratch.path() / "r");
    return std::pair(running.out(), running.err());
  };
  const auto [out, err] = run({});
  EXPECT_THAT(err, HasSubstr("NVTX_INJECTION64_PATH=/opt/nsys.so, NCCL_PROFILER_PLUGIN=inspector"));
  EXPECT_THAT(err, HasSubstr("`--yield nvtx,nccl`"));
  EXPECT_THAT(out, Not(HasSubstr("nsys")));
  const auto [left_out, left_err] = run({"--yield", "nvtx,nccl"});
  EXPECT_THAT(left_err, Not(HasSubstr("another tool")));
  EXPECT_EQ(left_out, "nvtx=/opt/nsys.so nccl=inspector\n");
}

TEST(RecordStartTest, SecretsOfTheCommandLineAreNotKept) {
  const TemporaryFolder scratch;
  const Ended ended = run_dprof(
      scratch, record({"-o", "r"}, {"hello", "ranges=5", "clean", "print=x", "--api-key", "hush"}));
  EXPECT_THAT(text_of(scratch.path() / "r/run.json"), HasSubstr("--api-key ***"));
  EXPECT_THAT(text_of(scratch.path() / "r/run.json"), Not(HasSubstr("hush")));
}

// More than the usual limit of open files allows, and a recorder thread for each.
TEST(RecordStartTest, ARecorderTakesHundredsOfProcesses) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int kProcesses = 64;
#else
  constexpr int kProcesses = 512;
#endif
  const TemporaryFolder scratch;
  const std::string one = kWriter + " hello ranges=10 sleep=3000 ranges=10 clean & ";
  std::vector<std::string> arguments =
      shell({"-o", "r"}, fmt::format("i=0; while [ $i -lt {0} ]; do RANK=$i WORLD_SIZE={0} {1} "
                                     "i=$((i+1)); done; wait",
                                     kProcesses, one));
  arguments.insert(arguments.begin(), kDprof);
  Running running(scratch, arguments);
  EXPECT_EQ(running.wait(std::chrono::seconds(90)), 0) << running.err();
  EXPECT_THAT(running.err(), HasSubstr(fmt::format("recorded {} ranks", kProcesses)));
  EXPECT_THAT(running.err(), HasSubstr(", 0 lost"));
}

}  // namespace
}  // namespace dprof::cli
