// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/hang/stack_taker.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

namespace dprof::recorder {
namespace {

using Steady = std::chrono::steady_clock;

// A process that waits in pause().
class Sleeper {
 public:
  Sleeper() {
    pid_ = fork();
    if (pid_ != 0) return;
    for (;;) pause();
  }
  ~Sleeper() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] char state() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    std::string text;
    std::getline(file, text);
    return text[text.rfind(')') + 2];
  }
  void wait_for(char wanted) const {
    for (int i = 0; i < 2000 && state() != wanted; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(state(), wanted);
  }

 private:
  pid_t pid_;
};

void take_all(StackTaker& taker) {
  while (!taker.receive()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool can_unwind(StackTaker& taker, int pid) {
  return taker.problem(pid).find("built without") == std::string::npos &&
         taker.problem(pid).find("not permitted") == std::string::npos;
}

TEST(StackTaker, TakesTheStacksAndLetsTheProcessGo) {
  const Sleeper sleeper;
  sleeper.wait_for('S');
  StackTaker taker({{sleeper.pid(), {}}}, 42);
  take_all(taker);
  if (!can_unwind(taker, sleeper.pid())) GTEST_SKIP() << taker.problem(sleeper.pid());
  EXPECT_EQ(taker.problem(sleeper.pid()), "");
  const std::vector<TakenFrame>& frames = taker.frames(sleeper.pid());
  ASSERT_GT(frames.size(), 1U);
  EXPECT_EQ(frames[0].time_ns, 42);
  EXPECT_EQ(frames[0].os_tid, sleeper.pid());
  EXPECT_EQ(frames[0].frame, 0);
  EXPECT_EQ(frames[0].kind, schema::StackKind::kNative);
  EXPECT_NE(frames[0].function.find("pause"), std::string::npos) << frames[0].function;
  sleeper.wait_for('S');
}

TEST(StackTaker, AStoppedProcessIsLeftAlone) {
  const Sleeper sleeper;
  kill(sleeper.pid(), SIGSTOP);
  sleeper.wait_for('T');
  StackTaker taker({{sleeper.pid(), {}}}, 0);
  take_all(taker);
  EXPECT_TRUE(taker.frames(sleeper.pid()).empty());
  EXPECT_EQ(taker.problem(sleeper.pid()), "it is stopped, and left alone");
  sleeper.wait_for('T');
  kill(sleeper.pid(), SIGCONT);
  sleeper.wait_for('S');
}

TEST(StackTaker, AProcessThatIsGoneIsAProblemAndNoMore) {
  pid_t pid = 0;
  {
    const Sleeper sleeper;
    pid = sleeper.pid();
  }
  StackTaker taker({{pid, {}}}, 0);
  take_all(taker);
  EXPECT_TRUE(taker.frames(pid).empty());
  EXPECT_NE(taker.problem(pid), "");
}

}  // namespace
}  // namespace dprof::recorder
