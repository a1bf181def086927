// SPDX-License-Identifier: Apache-2.0
#include "schema/stack_words.h"

#include <gtest/gtest.h>

#include <vector>

namespace dprof::schema {
namespace {

constexpr StackKind kNative = StackKind::kNative, kPython = StackKind::kPython;

TEST(StackWords, PythonsFramesComeFirst) {
  const std::vector<StackPlace> frames{
      {kNative, "futex_wait", "libc.so.6", {}},
      {kNative, "_PyEval_EvalFrameDefault", "python3.11", {}},
      {kPython, "lock_twice", "/home/me/train.py", 58},
      {kPython, "main", "/home/me/train.py", 125},
      {kPython, "<module>", "/home/me/train.py", 131},
      {kPython, "further", "x.py", 1},
  };
  EXPECT_EQ(
      words_of_stack(frames),
      "lock_twice (train.py:58), called by main (train.py:125), called by <module> (train.py:131)");
}

TEST(StackWords, TheCLibraryAndNamelessFramesSayNothing) {
  const std::vector<StackPlace> frames{
      {kNative, "pause", "/lib/x86_64-linux-gnu/libc.so.6", {}},
      {kNative, "0x7f12", "", {}},
      {kNative, "hang(int)", "faults.cpp", 12},
      {kNative, "app::(anonymous namespace)::Loop<int, a::b>::run(long) const", "trainer", {}},
      {kNative, "main", "trainer", {}},
  };
  EXPECT_EQ(words_of_stack(frames),
            "hang (faults.cpp:12), called by Loop::run (trainer), called by main (trainer)");
  EXPECT_EQ(words_of_stack({}), "");
  EXPECT_EQ(words_of_stack(std::span(frames).first(2)), "");
}

}  // namespace
}  // namespace dprof::schema
