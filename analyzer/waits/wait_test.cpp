// SPDX-License-Identifier: Apache-2.0
#include "analyzer/waits/wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "analyzer/breakdown/summary.h"
#include "analyzer/waits/test_support/matched.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using schema::Function;
using ::testing::Field;

constexpr double kUs = 1000;

struct Stay {
  int64_t start;
  int64_t end;
};

// One collective of as many ranks as there are stays, with root 0.
std::vector<RankDigest> ranks_of(const std::vector<Stay>& stays, Function function,
                                 int64_t sequence = 0) {
  std::vector<RankDigest> digests(stays.size());
  for (size_t r = 0; r < stays.size(); ++r) {
    digests[r].rank = static_cast<int>(r);
    digests[r].span = {{0}, {1'000'000'000}};
    CommunicatorInfo group{.hash = 7, .name = "pg", .size = {}, .members = {}, .own_number = {}};
    std::vector<int> members;
    for (size_t m = 0; m < stays.size(); ++m) members.push_back(static_cast<int>(m));
    group.members = std::move(members);
    digests[r].communicators.push_back(group);
    CollectiveRecord record;
    record.function = function;
    record.sequence = sequence;
    record.bytes = 1000;
    record.root = 0;
    record.start = TraceNs{stays[r].start};
    record.end = TraceNs{stays[r].end};
    digests[r].collectives.push_back(record);
  }
  return digests;
}

Instance divided(const std::vector<Stay>& stays, Function function,
                 std::optional<int64_t> bound_ns = 0) {
  const std::vector<RankDigest> digests = ranks_of(stays, function);
  return matched(digests, alignment_of(stays.size(), bound_ns)).instances.at(0);
}

std::vector<int64_t> waits_of(const Instance& instance) {
  std::vector<int64_t> waits;
  for (const Member& member : instance.members) waits.push_back(member.wait_ns);
  return waits;
}

TEST(WaitTest, SmallSpreadNeedsNoClock) {
  const Instance one = divided({{0, 1010}, {400, 1000}, {100, 1005}}, Function::kAllReduce, 3);
  EXPECT_EQ(one.transfer_ns, 600);
  EXPECT_THAT(waits_of(one), ::testing::ElementsAre(410, 0, 305));
  EXPECT_EQ(one.spread_ns, 10);
  EXPECT_EQ(one.bound_ns, std::nullopt) << "no clock decided";
  EXPECT_EQ(one.last_arriver, 1U);
}

TEST(WaitTest, LargeSpreadIsDividedByTheStarts) {
  // The first rank returns long before the others: its duration is not the transfer.
  const Instance one = divided({{0, 700}, {400, 1500}, {100, 1400}}, Function::kAllReduce, 3);
  EXPECT_THAT(waits_of(one), ::testing::ElementsAre(400, 0, 300));
  EXPECT_EQ(one.transfer_ns, 1000) << "of 300, 1000 and 1100 the middle one";
  EXPECT_EQ(one.spread_ns, 800);
  EXPECT_EQ(one.bound_ns, 6) << "two clocks, 3 ns each";
}

TEST(WaitTest, SpreadWithinTheBoundIsNone) {
  const Instance one = divided({{0, 700}, {400, 1500}}, Function::kAllReduce, 500);
  EXPECT_EQ(one.transfer_ns, 700);
  EXPECT_EQ(one.bound_ns, std::nullopt);
}

TEST(WaitTest, WithoutClocksTheSpreadIsNotKnown) {
  const Instance one = divided({{0, 700}, {400, 1500}}, Function::kAllReduce, std::nullopt);
  EXPECT_EQ(one.transfer_ns, 700);
  EXPECT_EQ(one.spread_ns, std::nullopt);
  EXPECT_EQ(one.bound_ns, std::nullopt);
}

TEST(WaitTest, ClocksThatCannotBeRightDoNotDecide) {
  // Rank 0 would have ended 300 ns before rank 1 began.
  const Instance one = divided({{0, 700}, {1000, 1500}}, Function::kAllReduce, 3);
  EXPECT_EQ(one.transfer_ns, 500);
  EXPECT_EQ(one.bound_ns, std::nullopt);
}

TEST(WaitTest, NobodyIsNamedForLessThanTheError) {
  EXPECT_EQ(divided({{0, 1000}, {5, 1000}}, Function::kAllReduce, 0).last_arriver, 1U);
  EXPECT_EQ(divided({{0, 1000}, {5, 1007}}, Function::kAllReduce, 10).last_arriver, std::nullopt)
      << "the stays differ by less than the ends";
  EXPECT_EQ(divided({{0, 1000}, {0, 1000}}, Function::kAllReduce, 0).last_arriver, std::nullopt);
  EXPECT_EQ(divided({{0, 1000}, {50, 1007}}, Function::kAllReduce, 10).last_arriver, 1U);
  EXPECT_EQ(divided({{0, 1000}, {50, 1007}}, Function::kAllReduce, std::nullopt).last_arriver, 1U);
}

TEST(WaitTest, DirectionalOnesHaveTheBoundOfTheClocks) {
  const Instance broadcast = divided({{300, 320}, {100, 350}}, Function::kBroadcast, 20);
  EXPECT_THAT(waits_of(broadcast), ::testing::ElementsAre(0, 200));
  EXPECT_EQ(broadcast.bound_ns, 40);
  EXPECT_EQ(broadcast.last_arriver, 0U);
  EXPECT_EQ(divided({{300, 320}, {290, 350}}, Function::kBroadcast, 20).last_arriver, std::nullopt)
      << "10 ns of waiting, known to within 40";
  const Instance gather = divided({{100, 350}, {300, 310}}, Function::kGather, 20);
  EXPECT_THAT(waits_of(gather), ::testing::ElementsAre(200, 0));
  EXPECT_EQ(gather.last_arriver, 1U);
  const Instance scatter = divided({{300, 320}, {100, 350}}, Function::kScatter, 20);
  EXPECT_THAT(waits_of(scatter), ::testing::ElementsAre(0, 200));
}

TEST(WaitTest, DirectionalOnesWithoutClocksAreGuessedAndSaidSo) {
  const std::vector<RankDigest> digests = ranks_of({{300, 320}, {100, 350}}, Function::kBroadcast);
  const Matching matching = matched(digests, false);
  EXPECT_TRUE(matching.instances[0].guessed);
  EXPECT_EQ(matching.instances[0].last_arriver, std::nullopt);
  const auto diagnostics = match_diagnostics(digests, matching);
  EXPECT_THAT(diagnostics, ::testing::Contains(Field(&Diagnostic::code, "guessed_waits")));
}

TEST(WaitTest, RootWithoutATraceIsAGuess) {
  std::vector<RankDigest> digests =
      ranks_of({{300, 320}, {100, 350}, {90, 340}}, Function::kReduce);
  digests.erase(digests.begin());
  EXPECT_TRUE(matched(digests, true).instances[0].guessed);
}

TEST(WaitTest, MessagesHaveTheBoundOfTheClocks) {
  std::vector<RankDigest> digests = ranks_of({{500, 900}, {100, 910}}, Function::kSend);
  digests[0].collectives.edit(0).peer = 1;
  digests[1].collectives.edit(0).function = Function::kRecv;
  digests[1].collectives.edit(0).peer = 0;
  const Matching matching = matched(digests, alignment_of(2, 15));
  ASSERT_EQ(matching.messages.size(), 1U);
  const Message& message = matching.messages[0];
  EXPECT_EQ(message.transfer_ns, 410);
  EXPECT_EQ(message.receive->wait_ns, 400) << "late sender";
  EXPECT_EQ(message.send->wait_ns, 0);
  EXPECT_EQ(message.bound_ns, 30);
  const auto summaries = summarise_messages(digests, matching, StepsByTime({}, 2));
  ASSERT_EQ(summaries.size(), 1U);
  EXPECT_EQ(summaries[0].bound_ns, 30);
  EXPECT_EQ(summaries[0].send_wait_ns, 0);
  EXPECT_EQ(matched(digests, false).messages[0].transfer_ns, std::nullopt);
}

TEST(WaitTest, SenderWaitsForALateReceiver) {
  std::vector<RankDigest> digests = ranks_of({{100, 900}, {600, 910}}, Function::kSend);
  digests[0].collectives.edit(0).peer = 1;
  digests[1].collectives.edit(0).function = Function::kRecv;
  digests[1].collectives.edit(0).peer = 0;
  const Message message = matched(digests, true).messages.at(0);
  EXPECT_EQ(message.send->wait_ns, 500);
  EXPECT_EQ(message.receive->wait_ns, 0);
  EXPECT_EQ(message.transfer_ns, 310);
}

// Errors of each method on generated all-reduces: late by |N(0, 300 us)|, a transfer of 500 us,
// ends spread by U(0, spread), clocks wrong by N(0, sigma).
struct Errors {
  double transfer_bias_us = 0;  // mean of estimate - truth
  double wait_error_us = 0;     // median of |estimate - truth|
};

Errors errors_of(size_t ranks, double sigma_us, double spread_us,
                 std::optional<int64_t> claimed_bound_ns) {
  std::mt19937_64 random(2026);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  double bias = 0;
  std::vector<double> wait_errors;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Stay> stays(ranks);
    double last = 0;
    std::vector<double> starts(ranks);
    for (double& start : starts) {
      start = 300 * std::abs(normal(random));
      last = std::max(last, start);
    }
    for (size_t r = 0; r < ranks; ++r) {
      const double end = last + 500 + spread_us * uniform(random);
      const double clock = 10'000 + sigma_us * normal(random);
      stays[r] = {static_cast<int64_t>((starts[r] + clock) * kUs),
                  static_cast<int64_t>((end + clock) * kUs)};
    }
    const Instance one = divided(stays, Function::kAllReduce, claimed_bound_ns);
    bias += static_cast<double>(one.transfer_ns) / kUs - 500;
    for (size_t r = 0; r < ranks; ++r) {
      wait_errors.push_back(
          std::abs(static_cast<double>(one.members[r].wait_ns) / kUs - (last - starts[r])));
    }
  }
  return {bias / kRounds, median(wait_errors)};
}

class WaitErrorTest : public ::testing::TestWithParam<size_t> {};

TEST_P(WaitErrorTest, ClockFreeIsWrongByHalfTheSpreadAtAnyClockError) {
  for (const double sigma_us : {0.0, 10.0, 100.0}) {
    const Errors errors = errors_of(GetParam(), sigma_us, 10, std::nullopt);
    EXPECT_NEAR(errors.transfer_bias_us, 5, 1.5) << sigma_us;
    EXPECT_LT(errors.wait_error_us, 5) << sigma_us;
  }
}

TEST_P(WaitErrorTest, StatedClocksAreOnlyUsedWhereTheyAreBetter) {
  // 10 us of 500 is small: as good as without clocks, whatever the clocks are.
  const Errors small = errors_of(GetParam(), 10, 10, 50'000);
  EXPECT_NEAR(small.transfer_bias_us, 5, 1.5);
  EXPECT_LT(small.wait_error_us, 5);
}

INSTANTIATE_TEST_SUITE_P(Ranks, WaitErrorTest, ::testing::Values(8, 64));

TEST(WaitErrorTest, GoodClocksHelpWhereEndsLieApart) {
  const Errors without = errors_of(8, 0, 400, std::nullopt);
  const Errors with = errors_of(8, 0, 400, 0);
  EXPECT_GT(without.wait_error_us, 50);
  EXPECT_LT(with.wait_error_us, 1) << "the starts are exact";
}

}  // namespace
}  // namespace dprof::analyzer
