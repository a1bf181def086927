// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/clock.h"

#include <gtest/gtest.h>
#include <time.h>

#include <cmath>
#include <cstdlib>

namespace dprof::recorder {
namespace {

TEST(RunClockTest, KeepsPaceWithTheSystem) {
  const RunClock clock = RunClock::start();
  const ClockReading first = clock.read();
  const timespec pause{0, 50 * kNsPerMs};
  nanosleep(&pause, nullptr);
  const ClockReading second = clock.read();
  const auto ours =
      static_cast<double>(clock.to_host(second.ticks).ns - clock.to_host(first.ticks).ns);
  const auto raw = static_cast<double>(second.monotonic_raw_ns - first.monotonic_raw_ns);
  EXPECT_NEAR(ours / raw, 1.0, 1e-3);
  EXPECT_GE(first.width_ns, 1);
  EXPECT_GE(clock.to_host(first.ticks).ns, 0);
}

TEST(RunClockTest, TimeZeroIsItsStart) {
  const RunClock clock = RunClock::start();
  EXPECT_EQ(clock.to_host(clock.origin().ticks).ns, 0);
  EXPECT_GT(clock.origin().realtime_ns, 0);
}

TEST(RunClockTest, ConvertsByTheScale) {
  const RunClock clock({.tick0 = 1000,
                        .multiplier = uint64_t{1} << 31,
                        .shift = 32,
                        .source = wire::ClockSource::kMonotonic});
  EXPECT_EQ(clock.to_host(3000).ns, 1000);
  EXPECT_EQ(clock.to_host(0).ns, -500);
  EXPECT_DOUBLE_EQ(clock.ticks_per_second(), 2e9);
  EXPECT_EQ(clock_variable(clock.scale()), "2 1000 2147483648 32");
}

TEST(TscTest, IsUsedOnlyWhereItIsSteadyAndTheKernelTrustsIt) {
  const std::string good = "processor\t: 0\nflags\t\t: fpu constant_tsc nonstop_tsc\n";
  EXPECT_TRUE(tsc_is_usable(good, "tsc\n"));
  EXPECT_FALSE(tsc_is_usable(good, "hpet\n"));
  EXPECT_FALSE(tsc_is_usable("flags\t: fpu constant_tsc\n", "tsc\n"));
  EXPECT_FALSE(tsc_is_usable("flags\t: constant_tsc nonstop_tsc_s3\n", "tsc\n"));
  EXPECT_FALSE(tsc_is_usable("", "tsc\n"));
}

}  // namespace
}  // namespace dprof::recorder
