// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "collector/inject/linker_use.h"

namespace dprof::inject {
namespace {

// The helper can wait in the loader for a lock held by the forking thread: the fork's wait for the
// helper must be bounded.
TEST(Fork, DoesNotWaitForEverForAHelperInTheLoader) {
  ASSERT_TRUE(watch_forks());
  std::atomic<bool> inside = false;
  std::atomic<bool> forked = false;
  std::thread helper([&] {
    const LinkerUse use;
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
      { const LinkerUse use; }  // nor is the child kept out of the loader
      _exit(0);
    }
    const LinkerUse use;
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

// A library must not be loaded while its dependencies are torn down.
TEST(Exit, WaitsForTheHelperToBeOutOfTheLoader) {
  const auto ends = [] {
    std::atomic<bool> inside = false;
    std::atomic<bool> done = false;
    std::thread helper([&] {
      const LinkerUse use;
      inside = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      done = true;
    });
    while (!inside) std::this_thread::yield();
    end_linker_use();
    const bool waited = done;
    helper.join();
    _exit(waited ? 0 : 1);
  };
  EXPECT_EXIT(ends(), ::testing::ExitedWithCode(0), "");
}

TEST(Exit, KeepsTheHelperOutOfTheLoader) {
  const auto ends = [] {
    static std::atomic<bool> inside = false;
    end_linker_use();
    std::thread([] {
      const LinkerUse use;
      inside = true;
    }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    _exit(inside ? 1 : 0);
  };
  EXPECT_EXIT(ends(), ::testing::ExitedWithCode(0), "");
}

TEST(Exit, DoesNotWaitForEver) {
  const auto ends = [] {
    static std::atomic<bool> inside = false;
    std::thread([] {
      const LinkerUse use;
      inside = true;
      for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
    }).detach();
    while (!inside) std::this_thread::yield();
    end_linker_use();
    _exit(0);
  };
  EXPECT_EXIT(ends(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace dprof::inject
