// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dprof::analyzer {
namespace {

using ::testing::HasSubstr;

Change parsed(std::string_view text) {
  const Result<Change> change = parse_change(text);
  EXPECT_TRUE(change.ok()) << text;
  return change.ok() ? *change : Change();
}

TEST(ChangeTest, EveryExampleIsAChange) {
  const std::string all = change_examples();
  size_t count = 0;
  for (size_t at = 0; at <= all.size(); ++count) {
    const size_t end = std::min(all.size(), all.find(", ", at));
    const Change change = parsed(all.substr(at, end - at));
    EXPECT_EQ(change.subject, static_cast<Subject>(count)) << change.text;
    EXPECT_EQ(change.text, all.substr(at, end - at));
    at = end + 2;
  }
  EXPECT_EQ(count, kSubjects);
}

TEST(ChangeTest, SaysWhoAndHowMuch) {
  EXPECT_EQ(parsed("rank:3=peers").rank, 3);
  EXPECT_TRUE(parsed("rank:3=peers").peers);
  EXPECT_DOUBLE_EQ(parsed("rank:12*0.8").factor, 0.8);
  EXPECT_EQ(parsed("host:node-2=peers").name, "node-2");
  EXPECT_DOUBLE_EQ(parsed("input=0").factor, 0);
  EXPECT_DOUBLE_EQ(parsed("bandwidth*2").factor, 2);
  EXPECT_EQ(parsed("bucket_cap=50MB").bytes, 50'000'000);
  EXPECT_EQ(parsed("bucket_cap=1MiB").bytes, 1'048'576);
  EXPECT_DOUBLE_EQ(parsed("accumulate=4").factor, 4);
  EXPECT_DOUBLE_EQ(parsed("world=2x").factor, 2);
  EXPECT_TRUE(parsed("gc=together").word);
  EXPECT_FALSE(parsed("gc=0").word);
}

// Names can contain the grammar's signs.
TEST(ChangeTest, TheLastSignEndsTheName) {
  EXPECT_EQ(parsed("op:aten::mm*0.5").name, "aten::mm");
  EXPECT_EQ(parsed("kernel:void add<float*>(int, float*)*0.7").name,
            "void add<float*>(int, float*)");
  EXPECT_DOUBLE_EQ(parsed("kernel:a=b*0").factor, 0);
}

TEST(ChangeTest, WhatSaysNothingIsRefusedWithTheGrammar) {
  for (const char* text : {"",
                           "=",
                           "input",
                           "input=",
                           "input=1",
                           "input=-0.5",
                           "input*nan",
                           "input*-1",
                           "input*inf",
                           "rank=peers",
                           "rank:=peers",
                           "rank:x=peers",
                           "rank:1=none",
                           "rank:1.5=peers",
                           "host=peers",
                           "bandwidth=0",
                           "bandwidth*0",
                           "bucket_cap=50",
                           "bucket_cap=0MB",
                           "bucket_cap*2",
                           "overlap=some",
                           "sync=0",
                           "accumulate=0",
                           "accumulate=2.5",
                           "world=2",
                           "world=0x",
                           "stragglers:1=none",
                           "frobnicate=0",
                           "gc=never",
                           "latency=1",
                           "phase*0.5"}) {
    const Result<Change> change = parse_change(text);
    ASSERT_FALSE(change.ok()) << text;
    EXPECT_EQ(change.error().code, Code::kUsage);
    EXPECT_THAT(change.error().hint, HasSubstr("rank:3=peers")) << text;
  }
}

}  // namespace
}  // namespace dprof::analyzer
