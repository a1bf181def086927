// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/launch/matrix.h"
#include "trainer_harness/launch/process.h"
#include "trainer_harness/launch/scheduling.h"
#include "trainer_harness/launch/spawn.h"

namespace dprof::trainer_harness {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Matrix, ReadsNamesRanksAndExpectations) {
  const std::vector<MatrixRun> runs = parse_matrix(
      "# all of it\n\n"
      "plain: --steps 5\n"
      "  three: ranks=3 expect=fail --inject 'kill:rank=1,step=2' \n"
      "--model toy\n");
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].name, "plain");
  EXPECT_EQ(runs[0].ranks, 2);
  EXPECT_FALSE(runs[0].should_fail);
  EXPECT_THAT(runs[0].arguments, ElementsAre("--steps", "5"));
  EXPECT_EQ(runs[1].ranks, 3);
  EXPECT_TRUE(runs[1].should_fail);
  EXPECT_THAT(runs[1].arguments, ElementsAre("--inject", "kill:rank=1,step=2"));
  EXPECT_EQ(runs[2].name, "run-5") << "its line";
}

TEST(Matrix, RefusesWhatItDoesNotKnowByLine) {
  const std::map<std::string, std::string> cases = {
      {"", "no runs"},
      {"# nothing\n", "no runs"},
      {"a: --steps 1\na: --steps 2\n", "line 2: a second run is called a"},
      {"a: rank=2 --steps 1\n", "line 1: rank=2 is not known"},
      {"a: ranks=two\n", "line 1: ranks=two"},
      {"a: ranks=-1\n", "line 1: ranks=-1"},
      {"../a: --steps 1\n", "line 1: '../a' cannot be a folder's name"},
      {"a: --inject 'x\n", "a quote is open"}};
  for (const auto& [text, want] : cases) {
    try {
      (void)parse_matrix(text);
      FAIL() << "was taken: " << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(want));
      EXPECT_THAT(error.what(), HasSubstr("\nhint: "));
    }
  }
}

TEST(Matrix, CommandOfARun) {
  const MatrixRun run = {"a", 3, false, {"--steps", "5"}};
  EXPECT_THAT(matrix_command(run, "", "trainer", "out/a", {"--seed", "1"}),
              ElementsAre("trainer", "--spawn", "3", "--truth", "out/a/truth.json", "--seed", "1",
                          "--steps", "5"));
  EXPECT_THAT(
      matrix_command(run, "dprof record -n {ranks} -o {dir}/run --", "trainer", "out/a", {}),
      ElementsAre("dprof", "record", "-n", "3", "-o", "out/a/run", "--", "trainer", "--truth",
                  "out/a/truth.json", "--steps", "5"));
  const MatrixRun alone = {"a", 0, false, {}};
  EXPECT_THAT(matrix_command(alone, "", "trainer", "d", {}),
              ElementsAre("trainer", "--truth", "d/truth.json"));
}

TEST(Matrix, LeavesItsOwnOptionsOutOfTheRuns) {
  EXPECT_THAT(without_options({"--matrix", "f", "--steps", "5", "--truth=d"},
                              {"--matrix", "--truth", "--matrix-command"}),
              ElementsAre("--steps", "5"));
}

TEST(Affinity, IsAListOfCoresByLocalRank) {
  EXPECT_THAT(parse_affinity("0-1,4;2"), ElementsAre(ElementsAre(0, 1, 4), ElementsAre(2)));
  for (const char* text : {"", "0;", "a", "1-0", "0,,1", "-1", "100000"}) {
    EXPECT_THROW((void)parse_affinity(text), UsageError) << text;
  }
}

TEST(Spawn, GivesEachRankItsPlace) {
  const auto has_threads = [](const char* name) {
    return std::string(name) == "OMP_NUM_THREADS" ? std::optional<std::string>("4") : std::nullopt;
  };
  const auto nothing = [](const char*) { return std::optional<std::string>(); };
  const auto as_map = [](const Variables& variables) {
    return std::map<std::string, std::string>(variables.begin(), variables.end());
  };
  auto variables = as_map(rank_variables({1, 2, 1, 3, 0}, false, "node-a", "29500", nothing));
  EXPECT_EQ(variables["RANK"], "3");
  EXPECT_EQ(variables["WORLD_SIZE"], "6");
  EXPECT_EQ(variables["LOCAL_RANK"], "1");
  EXPECT_EQ(variables["LOCAL_WORLD_SIZE"], "2");
  EXPECT_EQ(variables["MASTER_ADDR"], "node-a");
  EXPECT_EQ(variables["MASTER_PORT"], "29500");
  EXPECT_EQ(variables["OMP_NUM_THREADS"], "1");
  EXPECT_FALSE(variables.contains("TORCHELASTIC_RESTART_COUNT"));
  variables = as_map(rank_variables({0, 1, 0, 1, 2}, true, "a", "1", has_threads));
  EXPECT_FALSE(variables.contains("OMP_NUM_THREADS")) << "the user's stays";
  EXPECT_EQ(variables["TORCHELASTIC_RESTART_COUNT"], "2");
}

TEST(ChildGroup, SaysWhoEndedAndHow) {
  ChildGroup group;
  group.start({"/bin/sh", "-c", "exit $CODE"}, {{"CODE", "7"}});
  ChildGroup::Event event = group.wait_event();
  ASSERT_TRUE(event.child.has_value());
  EXPECT_EQ(*event.child, 0U);
  EXPECT_EQ(event.ending.code, 7);
  EXPECT_EQ(event.ending.text(), "ended with exit code 7");
  group.start({"/bin/sh", "-c", "kill -9 $$"}, {});
  event = group.wait_event();
  EXPECT_EQ(*event.child, 1U);
  EXPECT_EQ(event.ending.code, 137);
  EXPECT_EQ(event.ending.text(), "was killed by signal 9");
  EXPECT_EQ(group.children_left(), 0U);
}

TEST(ChildGroup, CallsAFunctionInAChild) {
  ChildGroup group;
  group.start([] { return std::atoi(std::getenv("DPROF_TEST_CODE")); }, {{"DPROF_TEST_CODE", "9"}});
  EXPECT_EQ(group.wait_event().ending.code, 9);
  EXPECT_EQ(std::getenv("DPROF_TEST_CODE"), nullptr) << "the child's alone";
}

TEST(ForkTest, IsLeftOutWhereAChildHasToBeginByItself) {
  const auto with = [](const char* name, const char* value) {
    setenv(name, value, 1);
    const bool can = can_fork();
    unsetenv(name);
    return can;
  };
  unsetenv("OMP_NUM_THREADS");
  EXPECT_FALSE(can_fork()) << "OpenMP would have this process's number of threads";
  setenv("OMP_NUM_THREADS", "1", 1);
  const bool has_gpu =
      std::filesystem::exists("/dev/nvidiactl") || std::filesystem::exists("/dev/kfd");
  EXPECT_EQ(can_fork(), !has_gpu);
  EXPECT_FALSE(with("LD_PRELOAD", "libdprof.so"));
  EXPECT_FALSE(with("CUDA_INJECTION64_PATH", "libdprof.so"));
  EXPECT_FALSE(with("NVTX_INJECTION64_PATH", "libdprof.so"));
  std::atomic<bool> ends = false;
  std::thread thread([&] { ends.wait(false); });
  EXPECT_FALSE(can_fork()) << "a second thread";
  ends = true;
  ends.notify_one();
  thread.join();
  unsetenv("OMP_NUM_THREADS");
}

TEST(ChildGroup, MakesTheStubbornEnd) {
  const auto begin = std::chrono::steady_clock::now();
  ChildGroup group;
  group.start({"/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"}, {});
  group.start({"/bin/sleep", "100"}, {});
  group.end_all();
  EXPECT_EQ(group.children_left(), 0U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(ChildGroup, AProgramThatIsNotThereFails) {
  ChildGroup group;
  group.start({"/no/such/program"}, {});
  EXPECT_EQ(group.wait_event().ending.code, 127);
}

TEST(FreePort, IsOneThatCanBeHad) {
  const int port = free_port();
  EXPECT_GT(port, 0);
  EXPECT_LT(port, 65536);
}

}  // namespace
}  // namespace dprof::trainer_harness
