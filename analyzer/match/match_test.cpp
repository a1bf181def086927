// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/breakdown/summary.h"
#include "analyzer/hang/hang.h"
#include "analyzer/waits/test_support/matched.h"

namespace dprof::analyzer {
namespace {

using schema::Function;
using ::testing::ElementsAre;

CollectiveRecord record(int64_t sequence, int64_t start, std::optional<int64_t> end,
                        Function function = Function::kAllReduce, int64_t bytes = 1000) {
  CollectiveRecord r;
  r.row = sequence + 1;
  r.function = function;
  r.sequence = sequence;
  r.group_sequence = sequence;
  r.bytes = bytes;
  r.enqueue = TraceNs{start - 5};
  r.start = TraceNs{start};
  if (end) r.end = TraceNs{*end};
  return r;
}

RankDigest rank_of(int rank, int ranks, const std::vector<CollectiveRecord>& records) {
  RankDigest digest;
  digest.rank = rank;
  digest.span = {{0}, {100'000}};
  digest.last_sign = {100'000};
  std::vector<int> members;
  for (int member = 0; member < ranks; ++member) members.push_back(member);
  digest.communicators.push_back({.hash = 77,
                                  .ordinal = 0,
                                  .name = "default_pg",
                                  .size = ranks,
                                  .members = std::move(members)});
  digest.collectives = records;
  return digest;
}

int64_t count(const Matching& matching, MatchState state) {
  return matching.count[static_cast<size_t>(state)];
}

TEST(MatchTest, TransferIsTheShortestStayAndWaitTheRest) {
  const std::vector<RankDigest> digests = {rank_of(0, 3, {record(0, 100, 400)}),
                                           rank_of(1, 3, {record(0, 250, 402)}),
                                           rank_of(2, 3, {record(0, 120, 401)})};
  const Matching matching = matched(digests, true);
  ASSERT_EQ(matching.instances.size(), 1U);
  const Instance& one = matching.instances[0];
  EXPECT_EQ(one.state, MatchState::kMatched);
  EXPECT_TRUE(one.comparable);
  EXPECT_EQ(one.transfer_ns, 152);
  EXPECT_EQ(one.last_arriver, 1U);
  EXPECT_EQ(one.members[0].wait_ns, 148);
  EXPECT_EQ(one.members[1].wait_ns, 0);
}

TEST(MatchTest, OffsetOfAClockChangesNothing) {
  const std::vector<RankDigest> near = {rank_of(0, 2, {record(0, 100, 400)}),
                                        rank_of(1, 2, {record(0, 250, 402)})};
  const std::vector<RankDigest> far = {rank_of(0, 2, {record(0, 100, 400)}),
                                       rank_of(1, 2, {record(0, 9'000'250, 9'000'402)})};
  const Instance a = matched(near, true).instances[0];
  const Instance b = matched(far, false).instances[0];
  EXPECT_EQ(a.transfer_ns, b.transfer_ns);
  EXPECT_EQ(a.members[0].wait_ns, b.members[0].wait_ns);
  EXPECT_EQ(a.last_arriver, b.last_arriver);
}

TEST(MatchTest, BroadcastWaitsForItsRoot) {
  std::vector<RankDigest> digests = {rank_of(0, 3, {record(0, 300, 320, Function::kBroadcast)}),
                                     rank_of(1, 3, {record(0, 100, 350, Function::kBroadcast)}),
                                     rank_of(2, 3, {record(0, 310, 360, Function::kBroadcast)})};
  for (RankDigest& digest : digests) digest.collectives.edit(0).root = 0;
  const Instance one = matched(digests, true).instances[0];
  EXPECT_EQ(one.members[0].wait_ns, 0);
  EXPECT_EQ(one.members[1].wait_ns, 200);
  EXPECT_EQ(one.members[2].wait_ns, 0);
  EXPECT_EQ(one.transfer_ns, 50);
  EXPECT_EQ(one.last_arriver, 0U);
}

TEST(MatchTest, RootOfAReduceWaitsForTheLast) {
  std::vector<RankDigest> digests = {rank_of(0, 2, {record(0, 100, 350, Function::kReduce)}),
                                     rank_of(1, 2, {record(0, 300, 310, Function::kReduce)})};
  for (RankDigest& digest : digests) digest.collectives.edit(0).root = 0;
  const Instance one = matched(digests, true).instances[0];
  EXPECT_EQ(one.members[0].wait_ns, 200);
  EXPECT_EQ(one.members[1].wait_ns, 0);
  EXPECT_EQ(one.transfer_ns, 50);
  EXPECT_EQ(one.last_arriver, 1U);
}

TEST(MatchTest, FunctionsCountByThemselves) {
  std::vector<CollectiveRecord> records = {
      record(0, 100, 200), record(0, 300, 400, Function::kBarrier), record(1, 500, 600)};
  for (size_t i = 0; i < records.size(); ++i) records[i].group_sequence = static_cast<int64_t>(i);
  const std::vector<RankDigest> digests = {rank_of(0, 2, records), rank_of(1, 2, records)};
  const Matching matching = matched(digests, true);
  EXPECT_EQ(matching.instances.size(), 3U);
  EXPECT_EQ(count(matching, MatchState::kMatched), 3);
}

TEST(MatchTest, CutOffMissingAndInFlight) {
  std::vector<CollectiveRecord> whole;
  for (int64_t i = 0; i < 10; ++i) whole.push_back(record(i, i * 100, i * 100 + 50));
  std::vector<CollectiveRecord> holed = whole;
  holed.erase(holed.begin() + 4);             // lost
  holed.erase(holed.end() - 2, holed.end());  // ended earlier
  holed.back().end.reset();                   // in flight at its end
  const std::vector<RankDigest> digests = {rank_of(0, 2, whole), rank_of(1, 2, holed)};
  const Matching matching = matched(digests, true);
  EXPECT_EQ(count(matching, MatchState::kMatched), 6);
  EXPECT_EQ(count(matching, MatchState::kMissing), 1);
  EXPECT_EQ(count(matching, MatchState::kTruncated), 2);
  EXPECT_EQ(count(matching, MatchState::kInFlight), 1);
}

TEST(MatchTest, OtherSizeIsAMismatchAndLaterOnesAreAsBefore) {
  std::vector<CollectiveRecord> usual;
  for (int64_t i = 0; i < 6; ++i) usual.push_back(record(i, i * 100, i * 100 + 50));
  std::vector<CollectiveRecord> odd = usual;
  odd[3].bytes = 4;
  const std::vector<RankDigest> digests = {rank_of(0, 2, usual), rank_of(1, 2, odd)};
  const Matching matching = matched(digests, true);
  EXPECT_EQ(count(matching, MatchState::kMatched), 5);
  EXPECT_EQ(count(matching, MatchState::kMismatch), 1);
  for (const Instance& instance : matching.instances)
    EXPECT_EQ(instance.comparable, instance.sequence != 3);
}

TEST(MatchTest, AbsentMemberMakesItIncompleteButComparable) {
  const std::vector<RankDigest> digests = {rank_of(0, 3, {record(0, 100, 400)}),
                                           rank_of(1, 3, {record(0, 250, 402)})};
  const Instance one = matched(digests, true).instances[0];
  EXPECT_EQ(one.state, MatchState::kMissing);
  EXPECT_TRUE(one.comparable);
}

TEST(MatchTest, GroupsOfEqualNameAndOtherHashAreOthers) {
  std::vector<RankDigest> digests = {rank_of(0, 2, {record(0, 100, 400)}),
                                     rank_of(1, 2, {record(0, 250, 402)})};
  digests[1].communicators[0].hash = 78;
  const Matching matching = matched(digests, true);
  EXPECT_EQ(matching.groups.size(), 2U);
  EXPECT_EQ(matching.instances.size(), 2U);
}

TEST(CommSpansTest, OneRankAloneTakesItsBestTransfer) {
  const std::vector<RankDigest> digests = {
      rank_of(0, 2, {record(0, 100, 150), record(1, 200, 300), record(2, 400, std::nullopt)})};
  const std::vector<CommSpan> spans = comm_spans(digests, matched(digests, true), 0);
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].arrive.ns, 100);
  EXPECT_EQ(spans[1].arrive.ns, 250);
  EXPECT_EQ(spans[2].span.end.ns, 100'000);
  EXPECT_GE(spans[2].arrive, spans[2].span.end);
}

TEST(SummaryTest, BandwidthAndLastArriver) {
  const auto rank = [](int r, int64_t first, int64_t second) {
    return rank_of(r, 2,
                   {record(0, first, 10'000, Function::kAllReduce, 1'000'000),
                    record(1, second, 30'000, Function::kAllReduce, 1'000'000)});
  };
  const std::vector<RankDigest> digests = {rank(0, 1000, 25'000), rank(1, 5000, 20'000)};
  const auto summaries = summarise(digests, matched(digests, true), StepsByTime({}, 2));
  ASSERT_EQ(summaries.size(), 1U);
  EXPECT_EQ(summaries[0].n, 2);
  EXPECT_EQ(summaries[0].transfer_ns, 5000);
  EXPECT_EQ(summaries[0].wait_ns, 4500);
  EXPECT_DOUBLE_EQ(*summaries[0].algbw, 2e11);
  EXPECT_DOUBLE_EQ(*summaries[0].busbw, 2e11);  // 2 (n - 1) / n = 1
  EXPECT_DOUBLE_EQ(summaries[0].last_arriver->share, 0.5);
  EXPECT_EQ(summaries[0].per_step, std::nullopt) << "there are no steps";
}

TEST(SummaryTest, UnmatchedAreSaidInWords) {
  const std::vector<RankDigest> digests = {rank_of(0, 2, {record(0, 100, std::nullopt)}),
                                           rank_of(1, 2, {record(0, 100, 200)})};
  const auto diagnostics = match_diagnostics(digests, matched(digests, true));
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].code, "unmatched_collectives");
  EXPECT_EQ(diagnostics[0].count, 1);
}

// --- hangs ---

class HangTest : public ::testing::Test {
 protected:
  // Ranks that complete one all-reduce; those of `stuck` then begin another at 1000 ns.
  void make(int ranks, const std::vector<int>& stuck, int64_t last_sign) {
    for (int r = 0; r < ranks; ++r) {
      std::vector<CollectiveRecord> records = {record(0, 100, 200)};
      if (std::ranges::count(stuck, r) != 0) records.push_back(record(1, 1000, std::nullopt));
      digests_.push_back(rank_of(r, ranks, records));
      digests_.back().last_sign = {last_sign};
      TraceFile trace;
      trace.rank = r;
      trace.ended = "complete";
      traces_.push_back(trace);
    }
  }

  [[nodiscard]] std::optional<Hang> find() const {
    const Matching matching = matched(digests_, true);
    return find_hang({.digests = digests_,
                      .traces = traces_,
                      .matching = matching,
                      .aligned = true,
                      .median_step_ns = 10'000'000});
  }

  static constexpr int64_t kLong = 60 * kNsPerSecond;
  std::vector<RankDigest> digests_;
  std::vector<TraceFile> traces_;
};

TEST_F(HangTest, RankThatNeverCameIsTheCulprit) {
  make(4, {0, 1, 3}, kLong);
  const auto hang = find();
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->state, "waiting");
  EXPECT_THAT(hang->culprits, ElementsAre(2));
  EXPECT_THAT(hang->waiting, ElementsAre(0, 1, 3));
  EXPECT_EQ(hang->sequence, 1);
}

TEST_F(HangTest, EndInTheMiddleOfAStepIsNoHang) {
  make(4, {0, 1, 3}, 2'000'000);
  EXPECT_FALSE(find());
}

TEST_F(HangTest, KilledRankIsDead) {
  make(3, {0, 2}, 500'000'000);
  traces_[1].ended = "process_killed";
  traces_[1].exit_status = "signal:9";
  traces_[0].ended = traces_[2].ended = "process_killed";
  traces_[0].exit_status = traces_[2].exit_status = "signal:15";
  const auto hang = find();
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->state, "dead");
  EXPECT_THAT(hang->culprits, ElementsAre(1));
  EXPECT_THAT(hang->waiting, ElementsAre(0, 2));
}

TEST_F(HangTest, RankWithoutTraceIsDeadIfAllOthersWait) {
  make(3, {0, 1, 2}, kLong);
  digests_.erase(digests_.begin() + 1);
  traces_.erase(traces_.begin() + 1);
  const auto hang = find();
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->state, "dead");
  EXPECT_THAT(hang->culprits, ElementsAre(1));
}

TEST_F(HangTest, AllInsideNamesNobody) {
  make(3, {0, 1, 2}, kLong);
  const auto hang = find();
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->state, "waiting");
  EXPECT_TRUE(hang->culprits.empty());
  EXPECT_THAT(hang->waiting, ElementsAre(0, 1, 2));
}

TEST_F(HangTest, OtherSizeIsAMismatch) {
  make(3, {0, 1, 2}, kLong);
  digests_[2].collectives.edit(1).bytes = 8;
  const auto hang = find();
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->state, "mismatch");
  EXPECT_THAT(hang->culprits, ElementsAre(2));
}

TEST_F(HangTest, NothingOpenIsNoHang) {
  make(3, {}, kLong);
  EXPECT_FALSE(find());
}

}  // namespace
}  // namespace dprof::analyzer
