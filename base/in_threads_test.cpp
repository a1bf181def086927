// SPDX-License-Identifier: Apache-2.0
#include "base/in_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace dprof {
namespace {

TEST(InThreads, EachPieceIsDoneOnce) {
  std::vector<std::atomic<int>> times(1000);
  size_t reported = 0;
  EXPECT_TRUE(in_threads(
      times.size(), 4, [&](size_t i) { ++times[i]; },
      [&](size_t done) {
        EXPECT_GE(done, reported);
        reported = done;
        return true;
      }));
  EXPECT_EQ(reported, times.size());
  for (const std::atomic<int>& once : times) EXPECT_EQ(once, 1);
}

TEST(InThreads, NothingToDoIsDone) {
  EXPECT_TRUE(in_threads(
      0, 0, [](size_t) { FAIL(); }, [](size_t) { return true; }));
}

TEST(InThreads, WhoHasEnoughIsLeftAlone) {
  std::atomic<size_t> begun = 0;
  std::atomic<bool> stopped = false;
  EXPECT_FALSE(in_threads(
      1000, 2,
      [&](size_t) {
        ++begun;
        if (begun > 2) stopped.wait(false);
      },
      [&](size_t) {
        stopped = true;
        stopped.notify_all();
        return false;
      }));
  EXPECT_LT(begun, 1000);
}

TEST(InThreads, WhatAPieceThrowsIsThrownToTheCaller) {
  const auto fails = [](size_t i) {
    if (i == 7) (void)std::vector<int>().at(i);
  };
  EXPECT_THROW(in_threads(1000, 4, fails), std::out_of_range);
  EXPECT_THROW(in_threads(1000, 4, fails, [](size_t) { return true; }), std::out_of_range);
}

TEST(InThreads, EachItemIsVisitedOnceAndAllBeforeTheEnd) {
  for (const size_t items : {0, 1, 63, 64, 65, 1000}) {
    std::vector<int> times(items);  // written by one thread each, and read after the end
    for_each_in_threads(items, [&](size_t i) { ++times[i]; });
    EXPECT_EQ(times, std::vector<int>(items, 1));
  }
}

}  // namespace
}  // namespace dprof
