// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/summary.h"

#include <gtest/gtest.h>

#include "analyzer/waits/test_support/matched.h"

namespace dprof::analyzer {
namespace {

using schema::Function;

// All-reduces of two ranks; rank 1 comes `late` after rank 0, and both end `transfer` later.
struct OneCall {
  int64_t bytes;
  int64_t late;
  int64_t transfer;
};

std::vector<RankDigest> pair_of(const std::vector<OneCall>& calls) {
  std::vector<RankDigest> digests(2);
  for (size_t r = 0; r < 2; ++r) {
    digests[r].rank = static_cast<int>(r);
    digests[r].span = {{0}, {1'000'000'000}};
    digests[r].communicators.push_back({.hash = 5, .name = "pg", .size = 2, .members = {0, 1}});
    for (size_t i = 0; i < calls.size(); ++i) {
      const int64_t at = static_cast<int64_t>(i) * 1'000'000;
      CollectiveRecord record;
      record.function = Function::kAllReduce;
      record.sequence = static_cast<int64_t>(i);
      record.group_sequence = record.sequence;
      record.bytes = calls[i].bytes;
      record.start = TraceNs{at + (r == 1 ? calls[i].late : 0)};
      record.end = TraceNs{at + calls[i].late + calls[i].transfer};
      digests[r].collectives.push_back(record);
    }
  }
  return digests;
}

std::vector<CollectiveSummary> summaries_of(const std::vector<RankDigest>& digests,
                                            std::optional<int64_t> bound_ns) {
  return summarise(digests, matched(digests, alignment_of(2, bound_ns)), StepsByTime({}, 2));
}

TEST(CollectiveSummaryTest, ApparentBandwidthCountsWaitingAsTransfer) {
  const auto digests = pair_of(std::vector<OneCall>(5, {1'000'000, 100'000, 50'000}));
  const auto summaries = summaries_of(digests, 0);
  ASSERT_EQ(summaries.size(), 1U);
  EXPECT_DOUBLE_EQ(summaries[0].busbw.value_or(0), 1e6 / 50e-6);
  // Stays of 150 and 50 us.
  EXPECT_DOUBLE_EQ(summaries[0].apparent_busbw.value_or(0), 1e6 / 100e-6);
  EXPECT_EQ(summaries[0].spread_ns, 0);
  EXPECT_EQ(summaries[0].bound_ns, std::nullopt);
}

TEST(CollectiveSummaryTest, EfficiencyIsAgainstTheBestOfTheSizeClass) {
  std::vector<OneCall> calls(19, {1'000'000, 10'000, 50'000});
  for (int i = 0; i < 21; ++i) calls.push_back({1'000'000, 10'000, 100'000});
  // Slightly larger: the same class.
  for (int i = 0; i < 4; ++i) calls.push_back({1'010'000, 10'000, 50'500});
  // Another class, with too few to judge.
  for (int i = 0; i < 4; ++i) calls.push_back({64'000'000, 10'000, 900'000});
  const auto summaries = summaries_of(pair_of(calls), 0);
  ASSERT_EQ(summaries.size(), 3U);
  EXPECT_EQ(summaries[0].bytes, 1'000'000);
  EXPECT_DOUBLE_EQ(summaries[0].efficiency.value_or(0), 0.5);
  EXPECT_DOUBLE_EQ(summaries[1].efficiency.value_or(0), 1);
  EXPECT_EQ(summaries[2].efficiency, std::nullopt);
}

TEST(CollectiveSummaryTest, BoundIsThatOfTheClocksThatDecided) {
  auto digests = pair_of(std::vector<OneCall>(3, {1'000, 100'000, 50'000}));
  digests[1].collectives.edit_all(
      [](CollectiveRecord& record) { record.end = *record.end + DurationNs{20'000}; });
  EXPECT_EQ(summaries_of(digests, 400).at(0).bound_ns, 800);
  EXPECT_EQ(summaries_of(digests, 400).at(0).wait_ns, 100'000);
  EXPECT_EQ(summaries_of(digests, std::nullopt).at(0).bound_ns, std::nullopt);
  EXPECT_EQ(summaries_of(digests, std::nullopt).at(0).spread_ns, std::nullopt);
}

}  // namespace
}  // namespace dprof::analyzer
