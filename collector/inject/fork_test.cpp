// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace dprof::inject {
namespace {

// The helper may wait in the loader for a lock that the forking thread holds: a fork must not wait
// for it for ever.
TEST(Fork, DoesNotWaitForEverForAHelperInTheLoader) {
  ASSERT_TRUE(watch_forks());
  std::atomic<bool> inside = false;
  std::atomic<bool> forked = false;
  std::thread helper([&] {
    const LoaderUse use;
    inside = true;
    while (!forked) std::this_thread::yield();
  });
  while (!inside) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) _exit(0);
  forked = true;
  helper.join();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Fork, LetsTheHelperUseTheLoaderAfterwards) {
  ASSERT_TRUE(watch_forks());
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      { const LoaderUse use; }  // nor is it kept from it in the child
      _exit(0);
    }
    const LoaderUse use;
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace dprof::inject
