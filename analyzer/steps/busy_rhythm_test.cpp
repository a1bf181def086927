// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/busy_rhythm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace dprof::analyzer {
namespace {

TEST(BusyRhythmTest, FindsThePeriodAndItsBegins) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise(1, 0.03);
  IntervalSet busy;
  std::vector<int64_t> truth;
  int64_t now = 1'000'000;
  const auto run = [&](double length) {
    const auto ns = static_cast<int64_t>(length * noise(random));
    busy.push_back({{now}, {now + ns}});
    now += ns;
  };
  for (int step = 0; step < 60; ++step) {
    truth.push_back(now);
    for (int kernel = 0; kernel < 5; ++kernel) {
      run(4e6);
      now += 300'000;
    }
    run(10e6);
    now += 5'000'000;  // the host prepares the next batch
  }
  const auto begins = rhythm_of(busy);
  ASSERT_TRUE(begins);
  size_t next = 0;
  size_t found = 0;
  for (const TraceNs begin : *begins) {
    while (next + 1 < truth.size() &&
           std::abs(truth[next + 1] - begin.ns) < std::abs(truth[next] - begin.ns))
      ++next;
    found += std::abs(truth[next] - begin.ns) < 400'000 ? 1 : 0;
  }
  EXPECT_GE(found, truth.size() - 1);
  EXPECT_LE(begins->size(), truth.size() + 1);
}

TEST(BusyRhythmTest, NoiseHasNone) {
  std::mt19937 random(6);
  std::exponential_distribution<double> length(1e-6);
  IntervalSet busy;
  int64_t now = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto ns = static_cast<int64_t>(length(random)) + 1;
    busy.push_back({{now}, {now + ns}});
    now += ns + static_cast<int64_t>(length(random)) + 1;
  }
  EXPECT_FALSE(rhythm_of(busy));
  EXPECT_FALSE(rhythm_of({}));
}

}  // namespace
}  // namespace dprof::analyzer
