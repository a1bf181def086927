// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/player.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

namespace dprof::trainer_harness {
namespace {

// Records its calls.
class FakeActions : public FaultActions {
 public:
  void spin(std::chrono::nanoseconds time) override {
    ++spins;
    std::this_thread::sleep_for(time);
  }
  [[nodiscard]] bool has_device() const override { return false; }
  void leak(int64_t bytes) override { leaked += bytes; }
  void churn(int64_t bytes) override {
    ++churned;
    largest = std::max(largest, bytes);
  }
  void empty_cache() override { ++emptied; }
  void reduce_sizes(bool wrong) override { sizes.push_back(wrong); }
  void reduce_groups(bool wrong) override { orders.push_back(wrong); }

  int spins = 0;
  int64_t leaked = 0;
  int churned = 0;
  int64_t largest = 0;
  int emptied = 0;
  std::vector<bool> sizes;
  std::vector<bool> orders;
};

class FaultPlayerTest : public ::testing::Test {
 protected:
  FaultPlayer& inject(const std::vector<std::string>& texts, int rank = 1) {
    std::vector<Fault> faults;
    for (const std::string& text : texts) faults.push_back(parse_fault(text));
    FaultScene scene;
    scene.rank = rank;
    scene.world_size = 2;
    truth_.rank = rank;
    return player_.emplace(std::move(faults), scene, truth_, actions_);
  }

  [[nodiscard]] int64_t number_done(const std::string& what) const {
    for (auto deed = truth_.deeds.rbegin(); deed != truth_.deeds.rend(); ++deed) {
      if (deed->what == what) return std::get<int64_t>(deed->value);
    }
    return -1;
  }

  RankTruth truth_;
  FakeActions actions_;
  std::optional<FaultPlayer> player_;
};

TEST_F(FaultPlayerTest, KeepsAccountOfWhatItDid) {
  FaultPlayer& player = inject({"loader:rank=1,ms=2", "loader:rank=0,ms=500"});
  player.visit(Place::kInput, 7);
  player.visit(Place::kForward, 7);
  ASSERT_EQ(truth_.strikes.size(), 1U);
  EXPECT_EQ(truth_.strikes[0].fault, 0U);
  EXPECT_EQ(truth_.strikes[0].step, 7);
  EXPECT_GE(truth_.strikes[0].duration_ns, 2'000'000);
  EXPECT_EQ(actions_.spins, 0) << "it sleeps";
  EXPECT_TRUE(player.acts_at(Place::kInput));
  EXPECT_FALSE(player.acts_at(Place::kBackward));
}

TEST_F(FaultPlayerTest, SpinsAndWaitsForAnotherThread) {
  FaultPlayer& player = inject({"compute:rank=1,ms=2", "sync:rank=1,ms=3"});
  player.visit(Place::kForward, 0);
  EXPECT_EQ(actions_.spins, 1);
  player.visit(Place::kStepEnd, 0);
  ASSERT_EQ(truth_.strikes.size(), 2U);
  EXPECT_GE(truth_.strikes[1].duration_ns, 3'000'000);
}

TEST_F(FaultPlayerTest, AStepStrikesOnceHoweverOftenItsPlaceIsVisited) {
  FaultPlayer& player = inject({"forward:rank=1,ms=1,step=3", "forward:rank=1,ms=1"});
  for (int micro_step = 0; micro_step < 4; ++micro_step) player.visit(Place::kForward, 3);
  EXPECT_EQ(std::ranges::count(truth_.strikes, 0U, &Strike::fault), 1);
  EXPECT_EQ(std::ranges::count(truth_.strikes, 1U, &Strike::fault), 4);
}

TEST_F(FaultPlayerTest, MemoryFaultsSayHowMuch) {
  FaultPlayer& player = inject({"leak:mb=2,from=1", "alloc-churn:mb=1", "empty-cache:every=2"});
  for (int64_t step = 0; step < 4; ++step) {
    player.visit(Place::kStepBegin, step);
    player.visit(Place::kForward, step);
    player.visit(Place::kStepEnd, step);
  }
  player.finish();
  EXPECT_EQ(actions_.leaked, 3 * (2 << 20));
  EXPECT_EQ(number_done("bytes"), 3 * (2 << 20));
  EXPECT_EQ(actions_.churned, 4 * 64);
  EXPECT_GT(actions_.largest, 1 << 19) << "sizes up to 1 MiB, of 256";
  EXPECT_LE(actions_.largest, 1 << 20);
  EXPECT_EQ(actions_.emptied, 2);
}

TEST_F(FaultPlayerTest, BatchesAndSequencesGrowByTheirShare) {
  FaultPlayer& player = inject({"skewed-batch:rank=1,share=0.5,from=2",
                                "long-sequences:rank=1,share=1", "skewed-batch:rank=0,share=3"});
  EXPECT_DOUBLE_EQ(player.batch_factor(1), 1);
  EXPECT_DOUBLE_EQ(player.batch_factor(2), 1.5);
  EXPECT_DOUBLE_EQ(player.length_factor(0), 2);
  EXPECT_EQ(truth_.strikes.size(), 2U);
}

TEST_F(FaultPlayerTest, AllRanksTakePartInAWrongCollective) {
  FaultPlayer& guilty = inject({"wrong-size:rank=1,step=2", "wrong-order:rank=0,step=3"});
  for (int64_t step = 0; step < 5; ++step) guilty.visit(Place::kStepBegin, step);
  EXPECT_EQ(actions_.sizes, std::vector<bool>{true});
  EXPECT_EQ(actions_.orders, std::vector<bool>{false});
  EXPECT_EQ(truth_.strikes.size(), 1U) << "only its own fault";
}

TEST_F(FaultPlayerTest, EarlyExitIsWrittenBeforeItIsDone) {
  FaultPlayer& player = inject({"early-exit:rank=1,step=2"});
  player.visit(Place::kStepBegin, 1);
  EXPECT_THROW(player.visit(Place::kStepBegin, 2), EarlyExit);
  ASSERT_EQ(truth_.strikes.size(), 1U);
  EXPECT_EQ(truth_.strikes[0].duration_ns, kNoDuration);
}

TEST_F(FaultPlayerTest, SaysWhatNeverStruck) {
  FaultPlayer& player = inject({"checkpoint-stall:rank=1,ms=5", "loader:rank=0,ms=5"});
  testing::internal::CaptureStderr();
  player.finish();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("rank 1: --inject checkpoint-stall:rank=1,ms=5 never struck"), said.npos);
  EXPECT_EQ(said.find("loader"), said.npos) << "that is another rank's";
}

cpu_set_t own_cores() {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof(mask), &mask);
  return mask;
}

// Other programs can keep a process off its core for a long time.
void wait_for_cpu_time(pid_t process) {
  clockid_t clock{};
  timespec used{};
  for (int i = 0; i < 1000 && used.tv_nsec < 2'000'000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_EQ(clock_getcpuclockid(process, &clock), 0);
    ASSERT_EQ(clock_gettime(clock, &used), 0);
  }
}

TEST_F(FaultPlayerTest, ARivalWorksInItsStepsAndIsGoneInTheEnd) {
  const cpu_set_t before = own_cores();
  FaultPlayer& player = inject({"cpu-contention:rank=1,from=1,to=3"});
  for (int64_t step = 0; step < 4; ++step) {
    player.visit(Place::kStepBegin, step);
    const cpu_set_t within = own_cores();
    EXPECT_EQ(CPU_COUNT(&within), step == 1 || step == 2 ? 1 : CPU_COUNT(&before)) << step;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (step == 2) wait_for_cpu_time(static_cast<pid_t>(number_done("pid")));
    player.visit(Place::kStepEnd, step);
  }
  player.finish();
  ASSERT_EQ(truth_.strikes.size(), 2U);
  EXPECT_GE(truth_.strikes[0].duration_ns, 20'000'000) << "how long they were two";
  EXPECT_GT(number_done("rival_cpu_ns"), 1'000'000);
  const auto rival = static_cast<pid_t>(number_done("pid"));
  ASSERT_GT(rival, 0);
  EXPECT_EQ(kill(rival, 0), 0) << "stopped, until the player goes";
  player_.reset();
  EXPECT_NE(kill(rival, 0), 0);
  const cpu_set_t after = own_cores();
  EXPECT_TRUE(CPU_EQUAL(&after, &before));
}

TEST_F(FaultPlayerTest, ARivalDiesWithItsRank) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    FaultPlayer& player = inject({"cpu-contention:rank=1"});
    player.visit(Place::kStepBegin, 0);
    const auto rival = static_cast<pid_t>(number_done("pid"));
    (void)!write(pipe_ends[1], &rival, sizeof(rival));
    raise(SIGKILL);
  }
  close(pipe_ends[1]);
  pid_t rival = 0;
  ASSERT_EQ(read(pipe_ends[0], &rival, sizeof(rival)), static_cast<ssize_t>(sizeof(rival)));
  waitpid(child, nullptr, 0);
  // The rival does not hold the rank's sockets and pipe ends open: this end sees the end of file.
  char byte = 0;
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 0);
  close(pipe_ends[0]);
  for (int i = 0; i < 500 && std::filesystem::exists("/proc/" + std::to_string(rival)); ++i) {
    std::ifstream stat("/proc/" + std::to_string(rival) + "/stat");
    std::string text;
    if (std::getline(stat, text) && text.find(") Z ") != text.npos) break;  // ended: a zombie
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::ifstream stat("/proc/" + std::to_string(rival) + "/stat");
  std::string text;
  std::getline(stat, text);
  EXPECT_TRUE(text.empty() || text.find(") Z ") != text.npos) << text;
}

TEST_F(FaultPlayerTest, AllThreadsShareAPinnedCore) {
  std::atomic<bool> over = false;
  cpu_set_t seen;
  CPU_ZERO(&seen);
  std::thread other([&] {
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    seen = own_cores();
  });
  FaultPlayer& player = inject({"pinned-core:rank=1,to=1"});
  player.visit(Place::kStepBegin, 0);
  over = true;
  other.join();
  EXPECT_EQ(CPU_COUNT(&seen), 1);
  player.visit(Place::kStepEnd, 0);
  player.visit(Place::kStepBegin, 1);
  EXPECT_GE(number_done("threads"), 2);
  EXPECT_GE(number_done("core"), 0);
}

}  // namespace
}  // namespace dprof::trainer_harness
