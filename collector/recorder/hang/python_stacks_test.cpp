// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/hang/python_stacks.h"

#include <gtest/gtest.h>

namespace dprof::recorder {
namespace {

TEST(PythonStacks, ReadsWhatFaulthandlerWrites) {
  const auto threads = parse_faulthandler(
      "Thread 0x00007f0b2f7fe6c0 (most recent call first):\n"
      "  File \"/usr/lib/python3.11/threading.py\", line 324 in wait\n"
      "\n"
      "Current thread 0x00007f0b31c8a040 [MainThread] (most recent call first):\n"
      "  Garbage-collecting\n"
      "  File \"/home/me/odd\", line 3 in.py\", line 58 in lock_twice\n"
      "  File \"<string>\", line 1 in <module>\n"
      "  ...\n");
  ASSERT_EQ(threads.size(), 2U);
  EXPECT_EQ(threads[0].pthread, 0x7f0b2f7fe6c0U);
  ASSERT_EQ(threads[0].frames.size(), 1U);
  EXPECT_EQ(threads[0].frames[0].function, "wait");
  EXPECT_EQ(threads[0].frames[0].file, "/usr/lib/python3.11/threading.py");
  EXPECT_EQ(threads[0].frames[0].line, 324);
  EXPECT_EQ(threads[1].pthread, 0x7f0b31c8a040U);
  ASSERT_EQ(threads[1].frames.size(), 2U);
  EXPECT_EQ(threads[1].frames[0].function, "lock_twice");
  EXPECT_EQ(threads[1].frames[0].file, "/home/me/odd\", line 3 in.py");
  EXPECT_EQ(threads[1].frames[1].function, "<module>");
}

TEST(PythonStacks, WhatMakesNoSenseIsLeftOut) {
  EXPECT_TRUE(parse_faulthandler("").empty());
  EXPECT_TRUE(parse_faulthandler("  File \"x.py\", line 1 in f\nThread 0xzz\n").empty());
  EXPECT_TRUE(parse_faulthandler("Thread 0x1 (\n  File \"x.py\"\n  File \"x.py\", line 1")[0]
                  .frames.empty());
}

}  // namespace
}  // namespace dprof::recorder
