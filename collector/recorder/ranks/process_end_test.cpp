// SPDX-License-Identifier: Apache-2.0
// Real processes, children of this one, examined before and after they are waited for.
#include "collector/recorder/ranks/process_end.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

namespace dprof::recorder {
namespace {

struct Child {
  explicit Child(const std::function<void()>& work) : pid(fork()) {
    if (pid == 0) {
      work();
      _exit(0);
    }
    pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  }
  ~Child() { close(pidfd); }

  void await_end() const {
    pollfd polled{pidfd, POLLIN, 0};
    ASSERT_EQ(poll(&polled, 1, 10'000), 1);
  }

  pid_t pid;
  int pidfd = -1;
};

bool kernel_remembers() {
  utsname name{};
  uname(&name);
  int major = 0;
  int minor = 0;
  sscanf(name.release, "%d.%d", &major, &minor);
  return major > 6 || (major == 6 && minor >= 15);
}

TEST(ProcessEndTest, AnExitCodeIsSeenBeforeAnybodyWaitsForIt) {
  const Child child([] { _exit(3); });
  child.await_end();
  const auto status = exit_status_of(child.pidfd, child.pid);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->text(), "exit:3");
  waitpid(child.pid, nullptr, 0);
}

TEST(ProcessEndTest, ASignalIsSeen) {
  const Child child([] { pause(); });
  kill(child.pid, SIGKILL);
  child.await_end();
  const auto status = exit_status_of(child.pidfd, child.pid);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->text(), "signal:9");
  waitpid(child.pid, nullptr, 0);
}

TEST(ProcessEndTest, WhoWasWaitedForIsKnownWhereTheKernelRemembers) {
  const Child child([] { _exit(4); });
  child.await_end();
  waitpid(child.pid, nullptr, 0);
  const auto status = exit_status_of(child.pidfd, child.pid);
  if (!kernel_remembers()) {
    EXPECT_FALSE(status);
    GTEST_SKIP() << "needs Linux 6.15";
  }
  ASSERT_TRUE(status);
  EXPECT_EQ(status->text(), "exit:4");
}

TEST(ProcessEndTest, WhoRunsHasNotEnded) {
  const Child child([] { pause(); });
  EXPECT_FALSE(exit_status_of(child.pidfd, child.pid));
  EXPECT_FALSE(exit_status_of(-1, child.pid));
  kill(child.pid, SIGKILL);
  waitpid(child.pid, nullptr, 0);
}

}  // namespace
}  // namespace dprof::recorder
