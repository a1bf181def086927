// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/all.h"

#include <gtest/gtest.h>

#include <string>

#include "base/paged_memory.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kCalls = 100;

// Differs in all that it owns from that of another rank.
RankDigest digest_with_calls(int rank) {
  RankDigest digest;
  digest.rank = rank;
  digest.communicators.push_back(
      {.name = "a name that needs a list of its own: " + std::to_string(rank), .members = {0, 1}});
  digest.ops.assign(1000, {{rank}, {rank + 1}});
  for (size_t i = 0; i < kCalls; ++i) {
    CollectiveRecord record;
    record.sequence = int64_t{rank} * 1000 + static_cast<int64_t>(i);
    digest.collectives.push_back(record);
  }
  return digest;
}

void expect_same(const RankDigest& digest, int rank) {
  const RankDigest expected = digest_with_calls(rank);
  EXPECT_EQ(digest.rank, rank);
  EXPECT_EQ(digest.communicators.front().name, expected.communicators.front().name);
  EXPECT_EQ(digest.communicators.front().members, expected.communicators.front().members);
  EXPECT_EQ(digest.ops, expected.ops);
  ASSERT_EQ(digest.collectives.size(), kCalls);
  for (size_t i = 0; i < kCalls; ++i)
    EXPECT_EQ(digest.collectives[i].sequence, expected.collectives[i].sequence);
}

// How many bytes of paged memory three digests take.
size_t collect_three(size_t calls_in_memory) {
  const size_t before = paged_bytes();
  CollectedDigests collected(3, calls_in_memory);
  for (int rank = 0; rank < 3; ++rank)
    collected.put(static_cast<size_t>(rank), digest_with_calls(rank));
  const std::vector<Result<RankDigest>> digests = std::move(collected).take();
  for (int rank = 0; rank < 3; ++rank) expect_same(*digests[static_cast<size_t>(rank)], rank);
  return paged_bytes() - before;
}

TEST(CollectedDigests, AsManyCallsAsAreAllowedStayInMemory) {
  EXPECT_EQ(collect_three(3 * kCalls), 0U);
}

TEST(CollectedDigests, IfThereAreMoreAllOfThemArePaged) {
  constexpr size_t kOps = 1000 * sizeof(Interval);
  constexpr size_t kRoom = size_t{1} << 20;  // that a thread takes at once
  (void)collect_three(0);                    // has taken it
  size_t paged = 0;
  for (int i = 0; i < 50; ++i) paged += collect_three(2 * kCalls);
  EXPECT_GE(paged + kRoom, size_t{50} * 3 * kOps);
}

TEST(CollectedDigests, OneThatFailedStaysAFailure) {
  CollectedDigests collected(2, 0);
  collected.put(0, fail(Code::kNotFound, "gone"));
  collected.put(1, digest_with_calls(1));
  const std::vector<Result<RankDigest>> digests = std::move(collected).take();
  ASSERT_FALSE(digests[0].ok());
  EXPECT_EQ(digests[0].error().what, "gone");
  expect_same(*digests[1], 1);
}

}  // namespace
}  // namespace dprof::analyzer
