// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nccl/nccl_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/inject/nccl/nccl_abi.h"
#include "collector/inject/nccl/nccl_version.h"
#include "collector/inject/nccl/sequence.h"
#include "collector/wire/nccl_records.h"

namespace dprof::inject::nccl {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kProxyMask = event_type::kProxyOp | event_type::kProxyStep;

TEST(NcclOptions, NobodyGetsThemUnasked) {
  for (const char* wishes : {static_cast<const char*>(nullptr), "", ",", ",,"}) {
    const Options options = options_for(wishes, 22809);
    EXPECT_EQ(options.mask, 0u);
    EXPECT_FALSE(options.refused);
    EXPECT_STREQ(options.source, "on");
  }
}

TEST(NcclOptions, WhatIsAskedForAndSafeIsGiven) {
  const Options both = options_for("channels,proxy", 22809);
  EXPECT_EQ(both.mask, event_type::kKernelCh | kProxyMask);
  EXPECT_FALSE(both.refused);
  EXPECT_STREQ(both.source, "on; with channels; with proxy");
  EXPECT_EQ(options_for("proxy", 22809).mask, kProxyMask);
  EXPECT_EQ(options_for(",channels,", 22907).mask, uint32_t{event_type::kKernelCh});
}

struct Refusal {
  const char* wish;
  int version;
  bool refused;
};

TEST(NcclOptions, NcclsThatFailAreRefused) {
  for (const Refusal& one : {Refusal{"channels", 22605, false}, Refusal{"channels", 22705, true},
                             Refusal{"channels", 22707, true}, Refusal{"channels", 22800, false},
                             Refusal{"channels", 22999, false}, Refusal{"channels", 23003, true},
                             Refusal{"channels", 23004, false}, Refusal{"channels", 23102, false},
                             Refusal{"channels", kNotKnown, true}, Refusal{"proxy", 22605, true},
                             Refusal{"proxy", 22703, false}, Refusal{"proxy", kNotKnown, true}}) {
    const Options options = options_for(one.wish, one.version);
    EXPECT_EQ(options.refused, one.refused) << one.wish << " " << one.version;
    EXPECT_EQ(options.mask == 0, one.refused) << one.wish << " " << one.version;
    EXPECT_THAT(options.source, HasSubstr(one.refused ? "without" : "with ")) << one.version;
  }
  const Options half = options_for("channels,proxy", 22707);
  EXPECT_TRUE(half.refused);
  EXPECT_EQ(half.mask, kProxyMask);
  EXPECT_THAT(half.source, HasSubstr("issue 2039"));
}

TEST(NcclOptions, UnknownWordsAreNamed) {
  const Options options = options_for("chanels,proxy", 22809);
  EXPECT_TRUE(options.refused);
  EXPECT_EQ(options.mask, kProxyMask);
  EXPECT_THAT(options.source, HasSubstr("without chanels: no such events"));
  const Options endless = options_for(std::string(5000, 'x').c_str(), 22809);
  EXPECT_TRUE(endless.refused);
  EXPECT_LT(strlen(endless.source), sizeof endless.source);
}

TEST(NcclVersion, ReadsAsNcclWritesIt) {
  char text[kVersionBytes];
  version_text(22809, text);
  EXPECT_STREQ(text, "2.28.9");
  version_text(23102, text);
  EXPECT_STREQ(text, "2.31.2");
  EXPECT_EQ(version_of(reinterpret_cast<const void*>(&version_text)), kNotKnown)
      << "this program is no NCCL";
}

TEST(NcclSequence, CountsPerCommunicatorPeerAndDirection) {
  EXPECT_EQ(next_sequence(1, 0, true), 0u);
  EXPECT_EQ(next_sequence(1, 0, true), 1u);
  EXPECT_EQ(next_sequence(1, 0, false), 0u);
  EXPECT_EQ(next_sequence(1, 1, true), 0u);
  EXPECT_EQ(next_sequence(2, 0, true), 0u);
  EXPECT_EQ(next_sequence(1, 0, true), 2u);
  forget_sequences(1);
  EXPECT_EQ(next_sequence(2, 0, true), 1u);
  EXPECT_EQ(next_sequence(3, 0, true), 0u);
  EXPECT_EQ(next_sequence(2, 0, true), 2u);
  forget_sequences(2);
  forget_sequences(3);
}

TEST(NcclSequence, UnknownWhereItCannotCount) {
  EXPECT_EQ(next_sequence(0, 0, true), wire::kNoSequence);
  EXPECT_EQ(next_sequence(7, -1, true), wire::kNoSequence);
  uint32_t counted = 0;
  for (int32_t peer = 0; peer < static_cast<int32_t>(kMaxCounted) + 100; ++peer) {
    const uint64_t sequence = next_sequence(7, peer, true);
    if (sequence == wire::kNoSequence) continue;
    EXPECT_EQ(sequence, 0u);
    ++counted;
  }
  EXPECT_LE(counted, kMaxCounted);
  EXPECT_GT(counted, kMaxCounted / 2) << "room is used";
  forget_sequences(7);
  EXPECT_EQ(next_sequence(8, 0, true), 0u) << "a communicator that is gone gives its room back";
  forget_sequences(8);
}

}  // namespace
}  // namespace dprof::inject::nccl
