// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/kept_output.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dprof::recorder {
namespace {

TEST(KeptOutputTest, KeepsTheLastLinesOfEachRank) {
  KeptOutput kept(2, 2);
  kept.add(0, "one\ntwo\nthr");
  kept.add(1, "other\n");
  kept.add(0, "ee\n");
  EXPECT_EQ(kept.last_lines(0), "two\nthree");
  EXPECT_EQ(kept.last_lines(1), "other");
  EXPECT_EQ(kept.last_lines(2), "");
}

TEST(KeptOutputTest, ALineWithoutAnEndCounts) {
  KeptOutput kept(1, 1);
  kept.add(0, "warning\nTraceback");
  EXPECT_EQ(kept.last_lines(0), "Traceback");
}

TEST(KeptOutputTest, ProgressBarsAreTheirLastState) {
  KeptOutput kept(1, 5);
  kept.add(0, "start\r\n 10%\r 20%\r 30%\nValueError\r\n");
  EXPECT_EQ(kept.last_lines(0), "start\n 30%\nValueError");
}

TEST(KeptOutputTest, OldBytesGo) {
  KeptOutput kept(1, 3);
  for (int i = 0; i < 10'000; ++i) kept.add(0, "line " + std::to_string(i) + "\n");
  EXPECT_EQ(kept.last_lines(0), "line 9997\nline 9998\nline 9999");
  kept.add(0, std::string(3 * KeptOutput::kBytes, 'x'));
  EXPECT_EQ(kept.last_lines(0), std::string(KeptOutput::kBytes, 'x'));
}

TEST(KeptOutputTest, NoneIsKeptWhereNoneIsWanted) {
  KeptOutput kept(2, 0);
  kept.add(0, "secret\n");
  EXPECT_EQ(kept.last_lines(0), "");
}

TEST(KeptOutputTest, WhatAProcessAddedBeforeItDiedIsThere) {
  KeptOutput kept(1, 10);
  const pid_t child = fork();
  if (child == 0) {
    kept.add(0, "last words\n");
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(kept.last_lines(0), "last words");
}

}  // namespace
}  // namespace dprof::recorder
