// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/common/clock.h"

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

TEST(FakeClockTest, IsExactAndRoundsDown) {
  const FakeClock fake{.offset_ns = 50'000'000, .drift_ppb = 20'000};
  EXPECT_EQ(fake.apply(0), 50'000'000);
  EXPECT_EQ(fake.apply(1'000'000'000), 1'050'020'000);
  EXPECT_EQ(fake.apply(49'999), 50'049'999) << "less than one ns of drift";
  EXPECT_EQ(fake.apply(50'000), 50'050'001);
  EXPECT_EQ((FakeClock{0, -20'000}.apply(1)), 0) << "rounded down, not towards 0";
  // Ten years: 64 bits would not hold the product.
  constexpr int64_t kTenYears = 315'360'000'000'000'000;
  EXPECT_EQ((FakeClock{0, 50'000}.apply(kTenYears)), kTenYears + kTenYears / 20'000);
}

TEST(FakeClockTest, EverythingThatTheClockSaysIsFake) {
  const wire::TickScale ns{
      .tick0 = 1000, .multiplier = 1, .shift = 0, .source = wire::ClockSource::kMonotonic};
  const FakeClock fake{.offset_ns = 7, .drift_ppb = 100'000};
  constexpr int64_t kRaw = 5'000'000'000;
  const RunClock clock(ns, fake, kRaw);
  EXPECT_EQ(clock.origin().monotonic_raw_ns, kRaw + 7 + 500'000);
  EXPECT_EQ(clock.to_host(1000).ns, 0);
  EXPECT_EQ(clock.to_host(1'000'001'000).ns, 1'000'100'000);
  EXPECT_EQ(clock.to_host(0).ns, -1001) << "before time 0, rounded down";
  EXPECT_TRUE(clock.id().ends_with(" fake:7,100000"));
  EXPECT_EQ(RunClock(ns).id().find("fake"), std::string::npos);
  const RunClock started = RunClock::start({.offset_ns = -3'000'000'000, .drift_ppb = 0});
  timespec raw{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
  const int64_t apart = raw.tv_sec * kNsPerSecond + raw.tv_nsec - started.origin().monotonic_raw_ns;
  EXPECT_GE(apart, 3'000'000'000);
  EXPECT_LT(apart, 60 * kNsPerSecond);
}

TEST(RunClockTest, TakesTheRateOfItsHostOnlyWhereItCanBeRight) {
  wire::TickScale scale{
      .tick0 = 10, .multiplier = 1'000'000'000, .shift = 32, .source = wire::ClockSource::kTsc};
  RunClock clock(scale);
  scale.multiplier = 1'000'050'000;
  scale.tick0 = 99;
  EXPECT_TRUE(clock.take_rate_of(scale));
  EXPECT_EQ(clock.scale().multiplier, 1'000'050'000u);
  EXPECT_EQ(clock.scale().tick0, 10u);
  scale.multiplier = 2'000'000'000;
  EXPECT_FALSE(clock.take_rate_of(scale));
  scale = {10, 1'000'000'000, 32, wire::ClockSource::kMonotonic};
  EXPECT_FALSE(clock.take_rate_of(scale));
  EXPECT_EQ(clock.scale().multiplier, 1'000'050'000u);
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
