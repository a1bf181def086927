// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/op_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace dprof::analyzer {
namespace {

constexpr TraceNs kNever{INT64_MIN};

Interval op_span(int64_t begin, int64_t end) { return {{begin}, {end}}; }
std::string name_of(int64_t id) { return "op" + std::to_string(id); }

// Collectives at [1000, 2000), [3000, 4000), …
IntervalSet communication(int64_t count) {
  IntervalSet set;
  for (int64_t i = 0; i < count; ++i) set.push_back(op_span(2000 * i + 1000, 2000 * i + 2000));
  return set;
}

TEST(OpTimesTest, DistinguishesBesideFromAlone) {
  OpTimesGatherer gatherer(communication(30), 100);
  TraceNs covered = kNever;
  for (int64_t i = 0; i < 30; ++i) {
    const int64_t at = 2000 * i;
    gatherer.add(covered, 5, op_span(at + 100, at + 200));    // alone: 100
    gatherer.add(covered, 5, op_span(at + 900, at + 1100));   // partly
    gatherer.add(covered, 5, op_span(at + 1200, at + 1320));  // beside: 120
    gatherer.add(covered, 6, op_span(at + 1400, at + 1500));  // never alone
  }
  const std::vector<OpTimes> times = std::move(gatherer).take(name_of);
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times[0].name, "op5");
  EXPECT_EQ(times[0].alone.count(), 30);
  EXPECT_EQ(times[0].alone.quantile(0.5), 100);
  EXPECT_EQ(times[0].beside.count(), 30);
  EXPECT_EQ(times[0].beside.quantile(0.5), 120);
  EXPECT_EQ(times[0].beside_ns, 30 * 120);
}

TEST(OpTimesTest, OnlyOutermostOperatorsOfAThreadCount) {
  OpTimesGatherer gatherer(communication(60), 100);
  TraceNs first = kNever;
  TraceNs second = kNever;
  for (int64_t i = 0; i < 30; ++i) {
    const int64_t at = 2000 * i;
    gatherer.add(first, 1, op_span(at, at + 500));
    gatherer.add(first, 2, op_span(at + 10, at + 90));  // within
    gatherer.add(first, 1, op_span(at + 1000, at + 1700));
  }
  // Another thread's rows follow, from the beginning of time.
  for (int64_t i = 0; i < 30; ++i) {
    const int64_t at = 2000 * i;
    gatherer.add(second, 1, op_span(at, at + 500));
    gatherer.add(second, 1, op_span(at + 1000, at + 1700));
  }
  const std::vector<OpTimes> times = std::move(gatherer).take(name_of);
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times[0].alone.count(), 60);
  EXPECT_EQ(times[0].beside.count(), 60);
}

TEST(OpTimesTest, KeepsThoseWithMostTime) {
  OpTimesGatherer gatherer(communication(20), 100);
  TraceNs covered = kNever;
  constexpr int64_t kNames = 40;
  for (int64_t i = 0; i < 20; ++i) {
    for (int64_t n = 0; n < kNames; ++n) {
      covered = kNever;
      gatherer.add(covered, n, op_span(2000 * i + 10 * n, 2000 * i + 10 * n + 5));
      covered = kNever;
      gatherer.add(covered, n, op_span(2000 * i + 1000, 2000 * i + 1001 + n));
    }
  }
  const std::vector<OpTimes> times = std::move(gatherer).take(name_of);
  ASSERT_EQ(times.size(), OpTimesGatherer::kMostKept);
  EXPECT_EQ(times.front().name, "op39");
  EXPECT_EQ(times.back().name, "op8");
}

TEST(OpTimesTest, WithoutCollectivesThereIsNothing) {
  OpTimesGatherer gatherer({}, 100);
  TraceNs covered = kNever;
  for (int64_t i = 0; i < 100; ++i) gatherer.add(covered, 1, op_span(10 * i, 10 * i + 5));
  EXPECT_TRUE(std::move(gatherer).take(name_of).empty());
}

TEST(OpSumsTest, BackwardIsWhatLiesWithinANode) {
  OpSumsGatherer gatherer;
  gatherer.add(1, false, op_span(0, 100));
  gatherer.add(2, false, op_span(10, 40));   // within 1: both have their time
  gatherer.add(3, true, op_span(200, 300));  // a node
  gatherer.add(2, false, op_span(210, 290));
  gatherer.add(2, false, op_span(220, 280));  // within another 2: counted
  gatherer.add(2, false, op_span(310, 320));
  const std::vector<OpSum> sums = std::move(gatherer).take(name_of);
  ASSERT_EQ(sums.size(), 3U);
  EXPECT_EQ(sums[0].name, "op2");
  EXPECT_EQ(sums[0].backward_ns, 80);
  EXPECT_EQ(sums[0].other_ns, 40);
  EXPECT_EQ(sums[1].other_ns, 100);
  EXPECT_EQ(sums[2].name, "op3");
  EXPECT_EQ(sums[2].backward_ns, 100);
}

TEST(OpSumsTest, KeepsTheLongest) {
  OpSumsGatherer gatherer;
  for (int64_t id = 0; id < 500; ++id) gatherer.add(id, false, op_span(1000 * id, 1001 * id + 1));
  gatherer.add(-1, false, op_span(0, 1'000'000));  // without a name
  const std::vector<OpSum> sums = std::move(gatherer).take(name_of);
  ASSERT_EQ(sums.size(), OpSum::kMostKept);
  EXPECT_EQ(sums.front().name, "op499");
}

}  // namespace
}  // namespace dprof::analyzer
