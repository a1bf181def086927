// SPDX-License-Identifier: Apache-2.0
#include "gui/view/drawing/time_scale.h"

#include <gtest/gtest.h>

#include <random>

namespace dprof::view {
namespace {

Interval range_of(int64_t begin, int64_t length) {
  return {TraceNs{begin}, TraceNs{begin + length}};
}

TEST(TimeScale, EveryPixelSurvivesTheRoundTrip) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const int width = 1 + static_cast<int>(random() % 4096);
    const auto length = static_cast<int64_t>(width + random() % (int64_t{1} << (random() % 50)));
    const auto begin = static_cast<int64_t>(random() % (int64_t{1} << 50)) - (int64_t{1} << 49);
    const TimeScale scale(range_of(begin, length), width);
    for (int pixel = -10; pixel < width + 10; ++pixel) {
      ASSERT_EQ(scale.pixel_of(scale.time_of(pixel)), pixel)
          << begin << " " << length << " " << width;
      ASSERT_EQ(scale.pixel_of(scale.time_of(pixel + 1) - DurationNs{1}), pixel);
    }
  }
}

TEST(TimeScale, TimeNeverRunsBackwards) {
  const TimeScale scale(range_of(123'456'789, 9'999'991), 1280);
  int previous = -1;
  for (int64_t at = 0; at < 9'999'991; at += 997) {
    const int pixel = scale.pixel_of(TraceNs{123'456'789 + at});
    ASSERT_GE(pixel, previous);
    previous = pixel;
  }
}

TEST(TimeScale, FarTimesStayNearTheScreen) {
  const TimeScale scale(range_of(1'000'000'000, 1'000), 1000);
  EXPECT_LT(scale.pixel_of(TraceNs{0}), 0);
  EXPECT_GT(scale.pixel_of(TraceNs{0}), -20'000);
  EXPECT_GT(scale.pixel_of(TraceNs{int64_t{1} << 60}), 1000);
  EXPECT_LT(scale.pixel_of(TraceNs{int64_t{1} << 60}), 20'000);
}

TEST(TimeScale, AtLeastOneNanosecondPerPixel) {
  const TimeScale scale(range_of(5, 10), 1000);
  EXPECT_EQ(scale.range(), range_of(5, 1000));
}

TEST(TimeScale, ZoomKeepsWhatIsUnderTheMouse) {
  const Interval bounds = range_of(0, 1'000'000'000);
  const TimeScale scale(range_of(400'000'000, 100'000'000), 1000);
  const TraceNs under = scale.time_of(250);
  const TimeScale in(zoomed(scale, 250, 1, 2, bounds), 1000);
  EXPECT_EQ(in.range().length().ns, 50'000'000);
  EXPECT_NEAR(in.pixel_of(under), 250, 1);
  const TimeScale out(zoomed(in, 250, 2, 1, bounds), 1000);
  EXPECT_NEAR(static_cast<double>(out.range().begin.ns), 400'000'000.0, 2.0);
}

TEST(TimeScale, ZoomAndPanStayInsideTheRun) {
  const Interval bounds = range_of(0, 1'000'000);
  const TimeScale scale(range_of(100'000, 500'000), 1000);
  EXPECT_EQ(zoomed(scale, 500, 100, 1, bounds), bounds);
  EXPECT_EQ(panned(scale, -10'000, bounds), range_of(0, 500'000));
  EXPECT_EQ(panned(scale, 10'000, bounds), range_of(500'000, 500'000));
  EXPECT_EQ(zoomed(scale, 500, 1, 1'000'000, bounds).length().ns, 1000);
}

TEST(TimeScale, TicksAreRoundAndApart) {
  const TimeScale scale(range_of(41'180'000'000, 940'000'000), 1300);
  const std::vector<Tick> ticks = ruler_ticks(scale, 110);
  ASSERT_GE(ticks.size(), 5U);
  EXPECT_EQ(ticks.front().label, "41.2 s");
  for (size_t i = 1; i < ticks.size(); ++i) {
    EXPECT_EQ(ticks[i].time.ns % 100'000'000, 0);
    EXPECT_GE(ticks[i].x - ticks[i - 1].x, 110);
  }
}

TEST(TimeScale, MomentsHaveTheDigitsThatDistinguishThem) {
  EXPECT_EQ(format_moment(TraceNs{41'231'456'789}, kNsPerMs), "41.231 s");
  EXPECT_EQ(format_moment(TraceNs{41'231'456'789}, kNsPerSecond), "41 s");
  EXPECT_EQ(format_moment(TraceNs{41'231'456'789}, 1), "41.231456789 s");
}

}  // namespace
}  // namespace dprof::view
