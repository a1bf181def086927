// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/memory/level_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "analyzer/memory/curves.h"
#include "analyzer/memory/test_support/training.h"

namespace dprof::analyzer {
namespace {

constexpr int64_t kMs = 1'000'000;

struct Event {
  int64_t at;
  int64_t level;
};

LevelCurve curve_of(const std::vector<Event>& events, int64_t first, int64_t offset = 0) {
  LevelCurveBuilder builder({.allocated = first});
  for (const Event& event : events)
    builder.add(TraceNs{event.at}, {.allocated = event.level, .reserved = 2 * event.level});
  return builder.take(offset, 0);
}

// The truth by a walk over the events: minimum and maximum from `begin` (inclusive) to `end`.
std::pair<int64_t, int64_t> truth(const std::vector<Event>& events, int64_t first, int64_t begin,
                                  int64_t end) {
  int64_t level = first;
  std::optional<std::pair<int64_t, int64_t>> range;
  const auto see = [&](int64_t one) {
    if (!range) range = {one, one};
    *range = {std::min(range->first, one), std::max(range->second, one)};
  };
  for (const Event& event : events) {
    if (event.at >= end) break;
    if (event.at >= begin) see(level);
    level = event.level;
    if (event.at >= begin) see(level);
  }
  if (!range) see(level);
  return *range;
}

TEST(LevelCurve, SaysWhatTheEventsSay) {
  const LevelCurve curve = curve_of({{0, 10}, {100, 5}, {3 * kMs, 7}}, 4);
  ASSERT_EQ(curve.points.size(), 2U);
  EXPECT_EQ(curve.points[0].low, 4);
  EXPECT_EQ(curve.points[0].high, 10);
  EXPECT_EQ(curve.points[0].last, 5);
  EXPECT_EQ(curve.points[0].reserved, 20);
  EXPECT_EQ(curve.points[1].begin, TraceNs{3 * kMs});
  EXPECT_EQ(curve.points[1].low, 5);
  EXPECT_EQ(curve.points[1].high, 7);
  EXPECT_EQ(curve.end, TraceNs{3 * kMs});
}

TEST(LevelCurve, OffsetsRaiseEveryLevel) {
  const LevelCurve curve = curve_of({{0, 10}}, 4, 100);
  EXPECT_EQ(curve.points[0].low, 104);
  EXPECT_EQ(curve.points[0].high, 110);
  EXPECT_EQ(curve.points[0].last, 110);
}

// Bursts and long quiet stretches: whatever the grid's width, each cell covers its levels, none
// shows a level that did not occur, and in quiet stretches the level is exact.
TEST(LevelCurve, CoversTheTruthHoweverLongTheRunIs) {
  std::mt19937_64 random(7);  // NOLINT: the same events each time
  std::vector<Event> events;
  int64_t at = 5;
  for (int i = 0; i < 25'000; ++i) {
    at += random() % 50 == 0 ? static_cast<int64_t>(random() % (900 * kMs))
                             : static_cast<int64_t>(random() % 200'000);
    events.push_back({at, static_cast<int64_t>(random() % 1'000'000)});
  }
  const LevelCurve curve = curve_of(events, 77);
  EXPECT_LE(curve.points.size(), LevelCurveBuilder::kMost);
  EXPECT_GT(curve.points.size(), LevelCurveBuilder::kMost / 4);
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const LevelPoint& point = curve.points[i];
    const int64_t begin = point.begin.ns;
    const int64_t next =
        i + 1 < curve.points.size() ? curve.points[i + 1].begin.ns : events.back().at + 1;
    ASSERT_LT(begin, next);
    const auto [low, high] = truth(events, 77, begin, std::min(next, begin + curve.cell_ns));
    ASSERT_LE(point.low, low) << i;
    ASSERT_GE(point.high, high) << i;
    if (next > begin + curve.cell_ns) {
      const auto quiet = truth(events, 77, begin + curve.cell_ns, next);
      ASSERT_EQ(quiet.first, point.last) << i;
      ASSERT_EQ(quiet.second, point.last) << i;
    }
    // No wider than the levels in the cell and just before it.
    const auto [least, most] = truth(events, 77, begin - curve.cell_ns, begin + curve.cell_ns);
    ASSERT_GE(point.low, least) << i;
    ASSERT_LE(point.high, most) << i;
  }
}

TEST(MemoryCurves, TheMostIsThePeakOfTheReport) {
  Training training({.totals = true});
  const RankDigest digest = training.digest();
  const std::vector<MemoryCurve> curves = memory_curves(digest.memory);
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_EQ(curves[0].device, -1);
  EXPECT_EQ(curves[0].source, MemorySource::kAllocatorEvents);
  const std::vector<LevelPoint>& points = curves[0].levels.points;
  EXPECT_EQ(std::ranges::max(points, {}, &LevelPoint::high).high, training.peak);
  EXPECT_EQ(points.back().last, training.level());
}

TEST(MemoryCurves, ReadingsMakeACurveWithThePeaksThatTheyTell) {
  MemoryDigest memory;
  memory.devices = {{.device = 0,
                     .readings = {{.at = TraceNs{10}, .allocated = 5, .reserved = 9},
                                  {.at = TraceNs{20},
                                   .allocated = 6,
                                   .reserved = 9,
                                   .peak_allocated = 8,
                                   .peak_reserved = 11},
                                  {.at = TraceNs{30}, .allocated = {}, .reserved = 9}}}};
  const std::vector<MemoryCurve> curves = memory_curves(memory);
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_EQ(curves[0].source, MemorySource::kStepSamples);
  ASSERT_EQ(curves[0].levels.points.size(), 2U);
  EXPECT_EQ(curves[0].levels.points[0].high, 8);
  EXPECT_EQ(curves[0].levels.points[0].reserved, 11);
  EXPECT_EQ(curves[0].levels.points[1].high, 6);
  EXPECT_EQ(curves[0].levels.points[1].reserved, 9);
  EXPECT_EQ(curves[0].levels.end, TraceNs{20});
}

TEST(MemoryCurves, TheHostHasItsAllocationsAndItsResidentSetApart) {
  Training training({});
  training.samples.push_back({.time_ns = 1000, .device_id = -1, .allocated_bytes = 1 << 30});
  const std::vector<MemoryCurve> curves = memory_curves(training.digest().memory);
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0].source, MemorySource::kCountedEvents);
  EXPECT_EQ(curves[1].source, MemorySource::kResident);
  EXPECT_EQ(curves[1].levels.points.at(0).last, 1 << 30);
}

}  // namespace
}  // namespace dprof::analyzer
