// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/focus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/report/test_support/sample_report.h"

namespace dprof::analyzer {
namespace {

TEST(SeenFrom, KeepsWhatIsThatRanks) {
  const Report seen = seen_from(sample_report(), 0);
  ASSERT_EQ(seen.breakdown->per_rank.size(), 1U);
  EXPECT_EQ(seen.breakdown->per_rank.front().rank, 0);
  EXPECT_EQ(seen.overlap->per_rank.size(), 1U);
  EXPECT_TRUE(seen.recording.lost.empty());  // all of rank 1
  EXPECT_TRUE(seen.clock->devices.empty());
  EXPECT_TRUE(seen.stragglers->empty());
  ASSERT_EQ(seen.phases->size(), 1U);  // "serve" is marked on rank 1 only
  EXPECT_EQ(seen.phases->front().per_rank.size(), 1U);
}

TEST(SeenFrom, KeepsWhatDescribesTheRun) {
  const Report whole = sample_report();
  const Report seen = seen_from(whole, 0);
  EXPECT_EQ(seen.run.ranks, whole.run.ranks);
  EXPECT_EQ(seen.collectives->size(), whole.collectives->size());
  EXPECT_EQ(seen.clock->hosts.size(), whole.clock->hosts.size());
  EXPECT_EQ(seen.hang->culprits, whole.hang->culprits);
}

TEST(SeenFrom, MessagesOfBothSidesStay) {
  const Report whole = sample_report();
  EXPECT_EQ(seen_from(whole, 1).point_to_point->size(), 2U);
  EXPECT_EQ(seen_from(whole, 0).point_to_point->size(), 1U);  // the one to rank 0
}

TEST(SeenFrom, ASymptomWhoseCauseIsNotShownStaysAFinding) {
  const Report whole = sample_report();  // 0: of rank 1; 1: of no rank, a symptom of 0
  ASSERT_TRUE((*whole.findings)[1].caused_by);
  const Report from_zero = seen_from(whole, 0);
  ASSERT_EQ(from_zero.findings->size(), 1U);
  EXPECT_FALSE(from_zero.findings->front().caused_by);
  const Report from_one = seen_from(whole, 1);
  ASSERT_EQ(from_one.findings->size(), 2U);
  EXPECT_EQ((*from_one.findings)[1].caused_by, 0);
}

TEST(SeenFrom, ARotatingStragglerConcernsEverybody) {
  Report report = sample_report();
  report.stragglers->push_back({.rank = {}, .shape = "rotating", .cause = "unknown"});
  EXPECT_EQ(seen_from(report, 0).stragglers->size(), 1U);
}

TEST(SeenFrom, MemoryAndSlowLinksAreThoseOfTheRank) {
  Report whole = sample_report();
  whole.slow_links->groups.push_back({.communicator = "dp_2", .ranks = {2, 3}});
  const Report seen = seen_from(whole, 1);
  EXPECT_TRUE(seen.memory->per_rank.empty());
  EXPECT_TRUE(seen.memory->leaks->empty());
  EXPECT_EQ(seen.memory->host.size(), 1U);
  ASSERT_EQ(seen.slow_links->groups.size(), 1U);
  EXPECT_EQ(seen.slow_links->groups.front().communicator, "dp_1");
}

TEST(SeenFrom, ASlowHostConcernsAllItsRanks) {
  Report whole = sample_report();
  whole.stragglers->front().host_ranks = {0, 1};
  EXPECT_EQ(seen_from(whole, 0).stragglers->size(), 1U);
  EXPECT_TRUE(seen_from(whole, 5).stragglers->empty());
}

}  // namespace
}  // namespace dprof::analyzer
