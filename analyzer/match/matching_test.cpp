// SPDX-License-Identifier: Apache-2.0
// Every collective gets the right state despite lost records, truncated traces and ranks that make
// different calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>

#include "analyzer/digest/test_support/edit_records.h"
#include "analyzer/match/groups.h"
#include "analyzer/match/match.h"
#include "analyzer/match/order.h"
#include "analyzer/match/test_support/test_run.h"

namespace dprof::analyzer {
namespace {

using schema::Function;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// --- wrong and missing numbers ---

class UnnumberedTest : public ::testing::Test {
 protected:
  // Steps of three different calls each, with step windows.
  void make(int ranks, int64_t steps) {
    run_ = std::make_unique<TestRun>(ranks);
    const size_t group = run_->group(all(ranks), Numbers::kNone);
    for (int64_t s = 0; s < steps; ++s) {
      for (const int64_t bytes : {100, 200, 300})
        run_->everybody(group, all(ranks), {.bytes = bytes});
      for (RankDigest& digest : run_->digests)
        digest.steps.push_back({s, {{s * 3 * TestRun::kMs}, {(s + 1) * 3 * TestRun::kMs}}});
    }
  }
  std::unique_ptr<TestRun> run_;
};

TEST_F(UnnumberedTest, LostRecordShiftsNothing) {
  make(3, 10);
  erase_record(run_->digests[1].collectives, 13);
  const Matching matching = match_collectives(run_->digests);
  ASSERT_THAT(matching.instances, SizeIs(30));
  for (size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(matching.instances[i].state, i == 13 ? MatchState::kMissing : MatchState::kMatched);
  }
}

TEST_F(UnnumberedTest, WithEqualCallsOnlyOneStepIsTouched) {
  make(3, 10);
  for (RankDigest& digest : run_->digests) {
    digest.collectives.edit_all([](CollectiveRecord& record) { record.bytes = 100; });
  }
  erase_record(run_->digests[1].collectives, 13);
  const Matching matching = match_collectives(run_->digests);
  ASSERT_THAT(matching.instances, SizeIs(30));
  for (size_t i = 0; i < 30; ++i) {
    if (i / 3 == 4) continue;
    EXPECT_EQ(matching.instances[i].state, MatchState::kMatched) << i;
    // The same calls, not their neighbours.
    for (const Member& member : matching.instances[i].members) {
      const auto& record = run_->digests[member.digest].collectives[member.record];
      EXPECT_EQ(record.enqueue->ns, static_cast<int64_t>(i) * TestRun::kMs);
    }
  }
}

TEST_F(UnnumberedTest, CapturedCallsAreTheirOwn) {
  TestRun run(2);
  const size_t group = run.group({0, 1}, Numbers::kNone);
  for (int replay = 0; replay < 3; ++replay) {
    for (int rank = 0; rank < 2; ++rank) {
      for (const bool captured : {true, false}) {
        CollectiveRecords::Edited record = run.call(rank, group, {.bytes = 8});
        record.captured = captured;
      }
    }
  }
  EXPECT_THAT(states_of(match_collectives(run.digests)), Each(MatchState::kMatched));
}

// The recorder numbers Gloo's calls as it sees them: after a loss it counts too few.
TEST(RecountedTest, NumbersOfALossyRankAreNotTrusted) {
  TestRun run(3);
  const size_t group = run.group(all(3));
  for (int64_t i = 0; i < 50; ++i) run.everybody(group, all(3), {.bytes = 100 + i % 7});
  CollectiveRecords& lossy = run.digests[2].collectives;
  erase_record(lossy, 20);
  int64_t number = 0;
  lossy.edit_all([&](CollectiveRecord& record) {
    record.sequence = number++;
    record.group_sequence = record.sequence;
  });
  run.digests[2].losses.push_back({schema::Source::kTorch, schema::LossReason::kRingFull, 1});
  const Matching matching = match_collectives(run.digests);
  ASSERT_THAT(matching.instances, SizeIs(50));
  for (size_t i = 0; i < 50; ++i)
    EXPECT_EQ(matching.instances[i].state, i == 20 ? MatchState::kMissing : MatchState::kMatched);
  EXPECT_THAT(matching.divergences, IsEmpty());
}

TEST(ResyncTest, CallTooManyIsLeftOutAndTheRestPaired) {
  TestRun run(4);
  const size_t group = run.group(all(4));
  for (int64_t i = 0; i < 80; ++i) {
    if (i == 30) run.call(3, group, {.function = Function::kBroadcast, .bytes = 1, .root = 0});
    run.everybody(group, all(4), {.bytes = 100 + i % 7});
  }
  const Matching matching = match_collectives(run.digests);
  int64_t matched = 0;
  for (const Instance& instance : matching.instances) {
    if (instance.state == MatchState::kMatched) ++matched;
  }
  EXPECT_EQ(matched, 80);
  ASSERT_THAT(matching.divergences, SizeIs(1));
  EXPECT_EQ(matching.divergences[0].sequence, 30);
  EXPECT_THAT(matching.divergences[0].sides[1].ranks, ElementsAre(3));
  EXPECT_EQ(matching.divergences[0].sides[1].next[0], "broadcast 1 B root 0");
  ASSERT_THAT(matching.remarks, SizeIs(2));
  EXPECT_THAT(matching.remarks[0].text, HasSubstr("rank 3 calls broadcast 1 B root 0"));
}

TEST(ResyncTest, CallTooFewIsMissing) {
  TestRun run(4);
  const size_t group = run.group(all(4));
  for (int64_t i = 0; i < 80; ++i) {
    for (int rank = 0; rank < 4; ++rank) {
      if (i != 30 || rank != 1) run.call(rank, group, {.bytes = 100 + i % 7});
    }
  }
  const Matching matching = match_collectives(run.digests);
  ASSERT_THAT(matching.instances, SizeIs(80));
  for (size_t i = 0; i < 80; ++i)
    EXPECT_EQ(matching.instances[i].state, i == 30 ? MatchState::kMissing : MatchState::kMatched);
}

TEST(ResyncTest, WhatNeverAgreesAgainIsNotTrusted) {
  TestRun run(3);
  const size_t group = run.group(all(3));
  for (int64_t i = 0; i < 60; ++i) {
    for (int rank = 0; rank < 3; ++rank)
      run.call(rank, group, {.bytes = rank == 2 && i >= 20 ? 7777 + i : 100 + i % 7});
  }
  const Matching matching = match_collectives(run.digests);
  ASSERT_THAT(matching.instances, SizeIs(60));
  for (size_t i = 0; i < 60; ++i)
    EXPECT_EQ(matching.instances[i].state, i < 20 ? MatchState::kMatched : MatchState::kMismatch);
}

TEST(ResyncTest, TwoRanksHaveNoMajority) {
  TestRun run(2);
  const size_t group = run.group(all(2));
  run.everybody(group, all(2), {});
  run.call(0, group, {.bytes = 8});
  run.call(1, group, {.bytes = 16});
  const Matching matching = match_collectives(run.digests);
  ASSERT_THAT(matching.divergences, SizeIs(1));
  EXPECT_TRUE(matching.divergences[0].tie);
  EXPECT_THAT(matching.remarks[0].text, HasSubstr("no side has a majority"));
}

TEST(OrderTest, TurnedFunctionsOfNcclAreAMismatch) {
  TestRun run(4);
  const size_t group = run.group(all(4), Numbers::kNccl);
  run.everybody(group, all(4), {});
  for (int rank = 0; rank < 4; ++rank) {
    const bool turned = rank == 2;
    run.call(rank, group, {.function = turned ? Function::kBarrier : Function::kAllGather});
    run.call(rank, group, {.function = turned ? Function::kAllGather : Function::kBarrier});
  }
  run.everybody(group, all(4), {});
  const Matching matching = match_collectives(run.digests);
  EXPECT_THAT(states_of(matching), ElementsAre(MatchState::kMatched, MatchState::kMismatch,
                                               MatchState::kMismatch, MatchState::kMatched));
  ASSERT_THAT(matching.divergences, SizeIs(1));
  EXPECT_THAT(matching.divergences[0].sides[1].ranks, ElementsAre(2));
}

// --- communicators ---

TEST(GroupsTest, SameNameAndOtherMembersAreOthers) {
  TestRun run(4);
  run.group({0, 1});
  run.group({2, 3});
  for (RankDigest& digest : run.digests) {
    digest.communicators.resize(1);
    digest.communicators[0].hash = 5;
    digest.communicators[0].members = digest.rank < 2 ? std::vector{0, 1} : std::vector{2, 3};
  }
  Matching matching;
  join_groups(run.digests, matching);
  ASSERT_THAT(matching.groups, SizeIs(2));
  EXPECT_NE(matching.groups[0].identity, matching.groups[1].identity);
  EXPECT_THAT(matching.groups[1].members, ElementsAre(2, 3));
}

TEST(GroupsTest, MadeAnewIsAnother) {
  TestRun run(2);
  const size_t first = run.group({0, 1});
  const size_t second = run.group({0, 1});
  for (RankDigest& digest : run.digests) {
    for (CommunicatorInfo& info : digest.communicators) info.hash = 5;
  }
  run.everybody(first, all(2), {});
  run.everybody(second, all(2), {});
  const Matching matching = match_collectives(run.digests);
  EXPECT_THAT(matching.groups, SizeIs(2));
  EXPECT_THAT(states_of(matching), ElementsAre(MatchState::kMatched, MatchState::kMatched));
}

TEST(GroupsTest, RankThatKnowsNoMembersFindsItsOwn) {
  TestRun run(4);
  run.group({0, 1, 2, 3});
  for (RankDigest& digest : run.digests) {
    digest.communicators[0].members = digest.rank < 2 ? std::vector{0, 1} : std::vector{2, 3};
  }
  run.digests[2].communicators[0].members = {};
  Matching matching;
  join_groups(run.digests, matching);
  ASSERT_THAT(matching.groups, SizeIs(2));
  EXPECT_EQ(matching.group_of[2][0], matching.group_of[3][0]);
}

TEST(GroupsTest, OneMemberIsMatchedAndNotCompared) {
  TestRun run(2);
  const size_t group = run.group({0});
  run.call(0, group, {});
  const Matching matching = match_collectives(run.digests);
  ASSERT_THAT(matching.instances, SizeIs(1));
  EXPECT_EQ(matching.instances[0].state, MatchState::kMatched);
  EXPECT_FALSE(matching.instances[0].comparable);
}

TEST(KeysTest, CallsThatShareANumberAreDistinguishedByOrder) {
  TestRun run(2);
  const size_t group = run.group({0, 1});
  for (int rank = 0; rank < 2; ++rank) {
    for (const int64_t bytes : {8, 16, 24})
      run.call(rank, group, {.bytes = bytes}).group_sequence = 5;
  }
  const Matching matching = match_collectives(run.digests);
  ASSERT_THAT(matching.instances, SizeIs(3));
  EXPECT_THAT(states_of(matching), Each(MatchState::kMatched));
}

// The recorder counts a group's sends and receives with its collectives.
TEST(KeysTest, MessagesDoNotShiftCollectives) {
  TestRun run(2);
  const size_t group = run.group({0, 1});
  int64_t next[2] = {0, 0};
  for (int round = 0; round < 5; ++round) {
    for (int rank = 0; rank < 2; ++rank) {
      for (int m = 0; m < (rank == 0 ? 1 : 3); ++m)
        run.message(rank, group, true, 1 - rank).group_sequence = next[rank]++;
      run.call(rank, group, {.bytes = 100 + round}).group_sequence = next[rank]++;
    }
  }
  const Matching matching = match_collectives(run.digests);
  EXPECT_THAT(matching.instances, SizeIs(5));
  EXPECT_THAT(states_of(matching), Each(MatchState::kMatched));
}

// With Join, a rank without further batches takes part with zeros: it is treated like any other. A
// rank that merely stops is truncated.
TEST(KeysTest, RankThatStopsEarlierIsCutOff) {
  TestRun run(3);
  const size_t group = run.group(all(3));
  for (int i = 0; i < 4; ++i) run.everybody(group, all(3), {});
  run.everybody(group, {0, 1}, {});
  const Matching matching = match_collectives(run.digests);
  ASSERT_THAT(matching.instances, SizeIs(5));
  EXPECT_EQ(matching.instances[4].state, MatchState::kTruncated);
}

TEST(KeysTest, WhatOneDoesNotKnowIsNoMismatch) {
  TestRun run(2);
  const size_t group = run.group(all(2));
  run.call(0, group, {});
  run.call(1, group, {}).function = Function::kUnknown;
  edit_last(run.digests[1].collectives).bytes.reset();
  const Matching matching = match_collectives(run.digests);
  EXPECT_THAT(states_of(matching), ElementsAre(MatchState::kMatched));
  EXPECT_EQ(matching.instances[0].function, Function::kAllReduce);
}

TEST(KeysTest, UnevenAllGatherIsMeantIfItEnds) {
  TestRun run(2);
  const size_t group = run.group(all(2));
  run.call(0, group, {.function = Function::kAllGather, .bytes = 8});
  run.call(1, group, {.function = Function::kAllGather, .bytes = 16});
  run.call(0, group, {.function = Function::kAllGather, .bytes = 8}, false);
  run.call(1, group, {.function = Function::kAllGather, .bytes = 16}, false);
  EXPECT_THAT(states_of(match_collectives(run.digests)),
              ElementsAre(MatchState::kMatched, MatchState::kMismatch));
}

// --- alignment of unnumbered calls ---

TEST(AlignmentTest, FindsALongestCommonSubsequence) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> a(random() % 40);
    std::vector<uint64_t> b(random() % 40);
    for (auto& value : a) value = random() % 4;
    for (auto& value : b) value = random() % 4;
    std::vector<std::vector<size_t>> length(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 1; i <= a.size(); ++i) {
      for (size_t j = 1; j <= b.size(); ++j) {
        length[i][j] = a[i - 1] == b[j - 1] ? length[i - 1][j - 1] + 1
                                            : std::max(length[i - 1][j], length[i][j - 1]);
      }
    }
    const auto pairs = aligned_positions(a, b);
    EXPECT_EQ(pairs.size(), length[a.size()][b.size()]);
    for (size_t p = 0; p < pairs.size(); ++p) {
      EXPECT_EQ(a[pairs[p].first], b[pairs[p].second]);
      if (p == 0) continue;
      EXPECT_GT(pairs[p].first, pairs[p - 1].first);
      EXPECT_GT(pairs[p].second, pairs[p - 1].second);
    }
  }
}

TEST(AlignmentTest, LongListsAreAlignedInBlocks) {
  std::mt19937 random(8);
  std::vector<uint64_t> a(20'000);
  for (auto& value : a) value = random();
  std::vector<uint64_t> b;
  for (const uint64_t value : a) {
    if (random() % 100 != 0) b.push_back(value);
  }
  EXPECT_EQ(aligned_positions(a, b).size(), b.size());
}

// --- steps and buckets ---

TEST(AttachTest, StepAndBucketByPlace) {
  TestRun run(2);
  const size_t group = run.group(all(2));
  for (int64_t s = 0; s < 3; ++s) {
    for (const int64_t bucket : {0, 1}) {
      for (int rank = 0; rank < 2; ++rank) {
        CollectiveRecords::Edited record = run.call(rank, group, {.bytes = 100 + bucket});
        if (s != 1) record.bucket = bucket;
      }
    }
    for (RankDigest& digest : run.digests)
      digest.steps.push_back({10 + s, {{s * 2 * TestRun::kMs}, {(s + 1) * 2 * TestRun::kMs}}});
  }
  Matching matching = match_collectives(run.digests);
  attach_steps(matching, run.digests);
  ASSERT_THAT(matching.instances, SizeIs(6));
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(matching.instances[i].step, 10 + static_cast<int64_t>(i) / 2);
    EXPECT_EQ(matching.instances[i].bucket, static_cast<int64_t>(i) % 2);
  }
}

// 2 M records: a quadratic algorithm would exceed this test's time limit.
TEST(MatchSpeedTest, ThousandsOfRanksAndCalls) {
  constexpr int kRanks = 400;
  TestRun run(kRanks);
  const size_t group = run.group(all(kRanks));
  for (int64_t i = 0; i < 500; ++i) run.everybody(group, all(kRanks), {.bytes = 8 + i % 5});
  const auto from = std::chrono::steady_clock::now();
  const Matching matching = match_collectives(run.digests);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - from;
  EXPECT_THAT(matching.instances, SizeIs(500));
  RecordProperty("seconds", std::to_string(took.count()));
  EXPECT_LT(took.count(), 20);
}

}  // namespace
}  // namespace dprof::analyzer
