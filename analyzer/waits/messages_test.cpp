// SPDX-License-Identifier: Apache-2.0
#include "analyzer/waits/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/breakdown/summary.h"
#include "analyzer/waits/test_support/matched.h"

namespace dprof::analyzer {
namespace {

using schema::Function;
using ::testing::ElementsAre;

// Builds the digest of one rank call by call.
class RankCalls {
 public:
  RankCalls(int rank, std::vector<int> members) {
    digest_.rank = rank;
    digest_.span = {{0}, {100'000}};
    const auto size = static_cast<int64_t>(members.size());
    digest_.communicators.push_back(
        {.hash = 7, .ordinal = 0, .name = "pg", .size = size, .members = std::move(members)});
  }

  RankCalls& send(int to, int64_t start, std::optional<int64_t> end, int64_t bytes = 1000) {
    return call(Function::kSend, to, start, end, bytes);
  }
  RankCalls& receive(std::optional<int> from, int64_t start, std::optional<int64_t> end,
                     int64_t bytes = 1000) {
    return call(Function::kRecv, from, start, end, bytes);
  }
  // As recorded by a recorder that knows no member but its own rank.
  RankCalls& only_own_number(int64_t number) {
    digest_.communicators[0].members = {};
    digest_.communicators[0].own_number = number;
    return *this;
  }
  [[nodiscard]] const RankDigest& digest() const { return digest_; }

 private:
  RankCalls& call(Function function, std::optional<int> peer, int64_t start,
                  std::optional<int64_t> end, int64_t bytes) {
    CollectiveRecord record;
    record.row = static_cast<int64_t>(digest_.collectives.size()) + 1;
    record.function = function;
    record.bytes = bytes;
    if (peer) record.peer = *peer;
    record.enqueue = record.start = TraceNs{start};
    if (end) record.end = TraceNs{*end};
    digest_.collectives.push_back(record);
    return *this;
  }

  RankDigest digest_;
};

struct Counts {
  std::optional<int> from;
  std::optional<int> to;
  int64_t n = 0;
  int64_t unmatched_sends = 0;
  int64_t unmatched_receives = 0;
  bool operator==(const Counts&) const = default;
};

std::vector<Counts> counts_of(const std::vector<RankDigest>& digests, bool aligned = true) {
  std::vector<Counts> counts;
  const Matching matching = matched(digests, aligned);
  for (const PointToPoint& p :
       summarise_messages(digests, matching, StepsByTime({}, digests.size())))
    counts.push_back({p.from, p.to, p.n, p.unmatched_sends, p.unmatched_receives});
  return counts;
}

TEST(MessagesTest, BothSidesWaitForTheOtherAndThenItIsMoved) {
  const std::vector<RankDigest> digests = {
      RankCalls(0, {0, 1}).send(1, 300, 420).send(1, 500, 620).digest(),
      RankCalls(1, {0, 1}).receive(0, 100, 400).receive(0, 550, 630).digest()};
  const Matching matching = matched(digests, true);
  EXPECT_TRUE(matching.instances.empty());
  ASSERT_EQ(matching.messages.size(), 2U);
  EXPECT_EQ(matching.messages[0].receive->wait_ns, 200);
  EXPECT_EQ(matching.messages[0].send->wait_ns, 0);
  EXPECT_EQ(matching.messages[0].transfer_ns, 100);
  EXPECT_EQ(matching.messages[1].receive->wait_ns, 0);
  EXPECT_EQ(matching.messages[1].send->wait_ns, 50);
  EXPECT_EQ(matching.messages[1].transfer_ns, 80);

  const std::vector<CommSpan> receiver = comm_spans(digests, matching, 1);
  ASSERT_EQ(receiver.size(), 2U);
  EXPECT_EQ(receiver[0].arrive, TraceNs{300}) << "until then it waits";
  EXPECT_EQ(comm_spans(digests, matching, 0)[1].arrive, TraceNs{550});

  const auto flows = summarise_messages(digests, matching, StepsByTime({}, 2));
  ASSERT_EQ(flows.size(), 1U);
  EXPECT_EQ(flows[0].communicator, "pg");
  EXPECT_EQ(flows[0].from, 0);
  EXPECT_EQ(flows[0].to, 1);
  EXPECT_EQ(flows[0].n, 2);
  EXPECT_EQ(flows[0].transfer_ns, 90);
  EXPECT_EQ(flows[0].wait_ns, 100);
  EXPECT_TRUE(match_diagnostics(digests, matching).empty());
}

TEST(MessagesTest, PeersAreNumbersInTheCommunicator) {
  const std::vector<RankDigest> digests = {RankCalls(4, {4, 6}).send(1, 100, 200).digest(),
                                           RankCalls(6, {4, 6}).receive(0, 100, 200).digest()};
  EXPECT_THAT(counts_of(digests), ElementsAre(Counts{4, 6, 1}));
}

TEST(MessagesTest, WithoutMembersEachRankGivesItsOwnNumber) {
  const std::vector<RankDigest> group = {
      RankCalls(4, {0, 1}).send(1, 100, 200).only_own_number(0).digest(),
      RankCalls(6, {0, 1}).receive(0, 100, 200).only_own_number(1).digest()};
  EXPECT_THAT(counts_of(group), ElementsAre(Counts{4, 6, 1}));

  // In the world's group, rank 1 left no trace.
  const std::vector<RankDigest> world = {
      RankCalls(0, {0, 1, 2}).send(1, 100, 200).send(2, 300, 400).only_own_number(0).digest(),
      RankCalls(2, {0, 1, 2}).receive(0, 300, 400).only_own_number(2).digest()};
  EXPECT_THAT(counts_of(world), ElementsAre(Counts{0, 1, 0, 1, 0}, Counts{0, 2, 1}));
}

TEST(MessagesTest, WithoutMembersAForeignNumberIsNotGuessed) {
  const std::vector<RankDigest> digests = {
      RankCalls(4, {0, 1, 2}).send(2, 100, 200).only_own_number(0).digest()};
  EXPECT_THAT(counts_of(digests), ElementsAre(Counts{4, std::nullopt, 0, 1, 0}));
}

TEST(MessagesTest, OnOtherClocksTheyAreMatchedAndTheirTimesLeftOut) {
  const std::vector<RankDigest> digests = {
      RankCalls(0, {0, 1}).send(1, 9'000'000, 9'000'100).digest(),
      RankCalls(1, {0, 1}).receive(0, 100, 200).digest()};
  const Matching matching = matched(digests, false);
  const auto flows = summarise_messages(digests, matching, StepsByTime({}, 2));
  ASSERT_EQ(flows.size(), 1U);
  EXPECT_EQ(flows[0].n, 1);
  EXPECT_EQ(flows[0].transfer_ns, std::nullopt);
  EXPECT_EQ(flows[0].wait_ns, std::nullopt);
}

TEST(MessagesTest, SizesAreMatchedByThemselves) {
  const std::vector<RankDigest> digests = {
      RankCalls(0, {0, 1}).send(1, 100, 200, 8).send(1, 300, 400, 16).digest(),
      RankCalls(1, {0, 1}).receive(0, 100, 400, 16).receive(0, 110, 200, 8).digest()};
  EXPECT_THAT(counts_of(digests), ElementsAre(Counts{0, 1, 1}, Counts{0, 1, 1}));
}

TEST(MessagesTest, AReceiveFromAnySourceLearnsItsSender) {
  const std::vector<RankDigest> digests = {
      RankCalls(0, {0, 1, 2}).send(2, 500, 600).digest(),
      RankCalls(1, {0, 1, 2}).send(2, 100, 200).send(2, 700, 800).digest(),
      RankCalls(2, {0, 1, 2})
          .receive(std::nullopt, 50, 200)
          .receive(std::nullopt, 210, 600)
          .receive(1, 610, 800)
          .digest()};
  const Matching matching = matched(digests, true);
  ASSERT_EQ(matching.messages.size(), 3U);
  EXPECT_THAT(counts_of(digests), ElementsAre(Counts{0, 2, 1}, Counts{1, 2, 2}));
}

TEST(MessagesTest, WhatHasNoOtherSideIsCountedWhereItBelongs) {
  const std::vector<RankDigest> digests = {
      RankCalls(0, {0, 1, 2}).send(1, 100, 200).send(2, 300, 400).digest(),
      RankCalls(1, {0, 1, 2})
          .receive(0, 100, 200)
          .receive(0, 300, std::nullopt)
          .receive(std::nullopt, 400, std::nullopt)
          .digest()};
  EXPECT_THAT(counts_of(digests), ElementsAre(Counts{std::nullopt, 1, 0, 0, 1},
                                              Counts{0, 1, 1, 0, 1}, Counts{0, 2, 0, 1, 0}));
  const auto diagnostics = match_diagnostics(digests, matched(digests, true));
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].code, "unmatched_messages");
  EXPECT_EQ(diagnostics[0].count, 3);
  EXPECT_EQ(diagnostics[0].text, "of 4 messages 1 have no receive, 2 no send");
}

TEST(MessagesTest, ALostSendDoesNotShiftTheOthers) {
  const std::vector<RankDigest> digests = {
      RankCalls(0, {0, 1}).send(1, 300, 400).digest(),  // the one at 100 was not recorded
      RankCalls(1, {0, 1}).receive(0, 100, 200).receive(0, 300, 410).digest()};
  const Matching matching = matched(digests, true);
  ASSERT_EQ(matching.messages.size(), 2U);
  EXPECT_FALSE(matching.messages[0].send);
  ASSERT_TRUE(matching.messages[1].send);
  EXPECT_EQ(matching.messages[1].transfer_ns, 110);
}

TEST(MessagesTest, APeerOutsideOfTheCommunicatorIsNotKnown) {
  const std::vector<RankDigest> digests = {RankCalls(0, {0, 1}).send(9, 100, 200).digest(),
                                           RankCalls(1, {0, 1}).receive(0, 100, 200).digest()};
  EXPECT_THAT(counts_of(digests),
              ElementsAre(Counts{0, std::nullopt, 0, 1, 0}, Counts{0, 1, 0, 0, 1}));
}

}  // namespace
}  // namespace dprof::analyzer
