// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "collector/inject/threads.h"

namespace dprof::inject {
namespace {

constexpr uint32_t kFirstEpoch = 1u << kMaskEpochShift;

TEST(OpenRanges, EndsWhatWasWritten) {
  OpenRanges open;
  open.push(1, true);
  open.push(2, false);
  EXPECT_FALSE(open.pop(2)) << "its begin was dropped";
  EXPECT_TRUE(open.pop(1));
  EXPECT_FALSE(open.pop(1)) << "one end too many";
}

TEST(OpenRanges, InnermostOfTheSameGoesFirst) {
  OpenRanges open;
  open.push(1, true);
  open.push(1, false);
  EXPECT_FALSE(open.pop(1));
  EXPECT_TRUE(open.pop(1));
}

TEST(OpenRanges, DomainsMayInterleave) {
  OpenRanges open;
  open.push(1, true);
  open.push(2, false);
  open.push(3, true);
  EXPECT_TRUE(open.pop(1));
  EXPECT_TRUE(open.pop(3));
  EXPECT_FALSE(open.pop(2));
}

TEST(OpenRanges, DeepNestingForgetsTheOutermost) {
  OpenRanges open;
  for (uint64_t what = 0; what < OpenRanges::kDepth + 10; ++what) open.push(what, true);
  for (uint64_t what = OpenRanges::kDepth + 10; what-- > 10;) EXPECT_TRUE(open.pop(what)) << what;
  for (uint64_t what = 10; what-- > 0;) EXPECT_FALSE(open.pop(what)) << what;
}

TEST(OpenRanges, PauseForgetsEverything) {
  OpenRanges open;
  open.follow(kFirstEpoch);
  open.push(1, true);
  open.follow(kFirstEpoch | kMaskFull);
  open.push(2, true);
  EXPECT_TRUE(open.pop(2)) << "another detail level changes nothing";
  open.follow(2 * kFirstEpoch);
  EXPECT_FALSE(open.pop(1));
}

}  // namespace
}  // namespace dprof::inject
