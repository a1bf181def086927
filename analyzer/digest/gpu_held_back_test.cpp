// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/gpu_held_back.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/digest/test_support/gpu_trace.h"

namespace dprof::analyzer {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kHeldUs = 1000;
constexpr int64_t kCompute = 7;  // streams
constexpr int64_t kOther = 8;
constexpr int64_t kCommunication = 20;

// A kernel until 100 us, and a collective from 100 to 300 us that waits for it by an event. A
// kernel of another stream, with nothing to wait for, is launched at 120 us and begins at `begin`.
class HeldBackTest : public ::testing::Test {
 protected:
  HeldBackTest() {
    trace_.kernel(0, kCompute, 10, 100);
    trace_.wait_for(kCommunication, 15, kCompute, 14);
    const int64_t collective = trace_.launch(0, 20, 25);
    trace_.collective(collective);
    trace_.activity(kCommunication, 100, 300, collective, "ncclDevKernel_AllReduce_Sum_f32");
  }

  void held(int64_t begin, int64_t called = 120) {
    trace_.activity(kOther, begin, begin + 50, trace_.launch(0, called, called + 5));
  }
  std::vector<HeldBack> found() {
    const RankDigest digest = trace_.digest();
    EXPECT_EQ(digest.gpu.devices.size(), 1U);
    return digest.gpu.devices.front().held_back;
  }

  GpuTrace trace_;
};

TEST_F(HeldBackTest, AKernelThatWasReadyBeginsWhenTheCollectiveEnds) {
  held(304);
  const std::vector<HeldBack> all = found();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].from.ns, 120 * kHeldUs) << "its launch";
  EXPECT_EQ(all[0].until.ns, 304 * kHeldUs);
  EXPECT_EQ(all[0].collective, 1);
}

TEST_F(HeldBackTest, NotWhatBeganBesideIt) {
  held(126);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(HeldBackTest, NotWhatBeganLongAfterIt) {
  held(340);
  EXPECT_THAT(found(), IsEmpty()) << "something else held it";
}

TEST_F(HeldBackTest, NotWhatWasLaunchedBeforeIt) {
  held(304, 16);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(HeldBackTest, NotWhatAnEventOrders) {
  trace_.wait_for(kOther, 110, kCommunication, 30);
  held(304);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(HeldBackTest, NotWhatAnEventMayOrderOverAThirdStream) {
  trace_.wait_for(kOther, 110, 9, 105);
  held(304);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(HeldBackTest, NotWhileTheDeviceComputesForOthers) {
  trace_.kernel(0, kCompute, 101, 299);
  held(304);
  EXPECT_THAT(found(), IsEmpty()) << "it may have had no room";
}

TEST(HeldBack, NotWhereEventsWereNotRecorded) {
  GpuTrace trace;
  const int64_t collective = trace.launch(0, 20, 25);
  trace.collective(collective);
  trace.activity(kCommunication, 100, 300, collective, "ncclDevKernel_AllReduce_Sum_f32");
  trace.activity(kOther, 304, 350, trace.launch(0, 120, 125));
  EXPECT_THAT(trace.digest().gpu.devices.front().held_back, IsEmpty());
}

}  // namespace
}  // namespace dprof::analyzer
