// SPDX-License-Identifier: Apache-2.0
// Generated runs with records that are lost, truncated, reordered or of the wrong size: each
// collective still gets its correct state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <random>

#include "analyzer/digest/test_support/edit_records.h"
#include "analyzer/match/match.h"
#include "analyzer/match/test_support/test_run.h"

namespace dprof::analyzer {
namespace {

using schema::Function;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

enum class Harm : uint8_t { kNone, kDropped, kTruncated, kSwapped, kWrongSize };

struct HarmCase {
  const char* name;
  Numbers numbers;
  Harm harm;
};
void PrintTo(const HarmCase& one, std::ostream* out) { *out << one.name; }

class HarmTest : public ::testing::TestWithParam<HarmCase> {
 protected:
  static constexpr int kRanks = 8;
  static constexpr int64_t kSteps = 60;

  // A step: four buckets of different sizes, then a broadcast and a barrier now and then.
  static std::vector<TestRun::What> step(int64_t index) {
    std::vector<TestRun::What> calls = {
        {.bytes = 4096}, {.bytes = 65536}, {.bytes = 65536}, {.bytes = 1 << 20}};
    if (index % 10 == 3) calls.push_back({.function = Function::kBroadcast, .bytes = 8, .root = 0});
    if (index % 10 == 7) calls.push_back({.function = Function::kBarrier, .bytes = 0});
    return calls;
  }

  void make(Numbers numbers) {
    run_ = std::make_unique<TestRun>(kRanks);
    const size_t group = run_->group(all(kRanks), numbers);
    for (int64_t s = 0; s < kSteps; ++s) {
      for (const TestRun::What& what : step(s)) {
        run_->everybody(group, all(kRanks), what);
        ++count_;
      }
    }
    truth_.assign(static_cast<size_t>(count_), MatchState::kMatched);
  }

  // Numbers the calls before any record is removed.
  CollectiveRecords& records(int rank) {
    return run_->digests[static_cast<size_t>(rank)].collectives;
  }

  // One record in a hundred, except near the ends, where it would be indistinguishable from a cut.
  void drop(std::mt19937& random) {
    for (int r = 0; r < kRanks; ++r) {
      std::vector<CollectiveRecord> kept;
      const CollectiveRecords& all_of_rank = records(r);
      for (size_t i = 0; i < all_of_rank.size(); ++i) {
        const bool inside = i > 0 && i + 1 < all_of_rank.size();
        if (inside && random() % 100 == 0) {
          truth_[i] = MatchState::kMissing;
        } else {
          kept.push_back(all_of_rank[i]);
        }
      }
      records(r) = kept;
    }
  }

  // All but the first rank's: a call without any record cannot be found.
  void truncate(std::mt19937& random) {
    for (int r = 1; r < kRanks; ++r) {
      std::vector<CollectiveRecord> kept = list_of(records(r));
      const size_t head = random() % 20;
      const size_t tail = random() % 20;
      for (size_t i = 0; i < head; ++i) truth_[i] = MatchState::kTruncated;
      for (size_t i = 0; i < tail; ++i) truth_[truth_.size() - 1 - i] = MatchState::kTruncated;
      kept.erase(kept.end() - static_cast<long>(tail), kept.end());
      kept.erase(kept.begin(), kept.begin() + static_cast<long>(head));
      records(r) = kept;
    }
  }

  // One rank calls two neighbours in reverse order: their numbers do not move.
  void swap(std::mt19937& random) {
    const int rank = static_cast<int>(random() % kRanks);
    CollectiveRecords& of_rank = records(rank);
    size_t at = 10 + random() % 100;
    while (of_rank[at].bytes == of_rank[at + 1].bytes ||
           of_rank[at].function != of_rank[at + 1].function)
      ++at;
    const CollectiveRecord first = of_rank[at];
    of_rank.edit(at).bytes = of_rank[at + 1].bytes;
    of_rank.edit(at + 1).bytes = first.bytes;
    truth_[at] = truth_[at + 1] = MatchState::kMismatch;
    odd_ = rank;
  }

  void change_size(std::mt19937& random) {
    const int rank = static_cast<int>(random() % kRanks);
    size_t at = 10 + random() % 100;
    while (records(rank)[at].function != Function::kAllReduce) ++at;
    records(rank).edit(at).bytes = 12;
    truth_[at] = MatchState::kMismatch;
    odd_ = rank;
  }

  void harm(Harm what, std::mt19937& random) {
    switch (what) {
      case Harm::kNone:
        return;
      case Harm::kDropped:
        return drop(random);
      case Harm::kTruncated:
        return truncate(random);
      case Harm::kSwapped:
        return swap(random);
      case Harm::kWrongSize:
        return change_size(random);
    }
  }

  std::unique_ptr<TestRun> run_;
  int64_t count_ = 0;
  std::vector<MatchState> truth_;  // in order of call
  std::optional<int> odd_;
};

TEST_P(HarmTest, EveryStateIsRight) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    count_ = 0;
    odd_.reset();
    make(GetParam().numbers);
    harm(GetParam().harm, random);
    const Matching matching = match_collectives(run_->digests);
    ASSERT_EQ(states_of(matching), truth_) << "seed " << seed;
    EXPECT_EQ(std::accumulate(matching.count.begin(), matching.count.end(), int64_t{0}), count_);
    if (odd_) {
      ASSERT_THAT(matching.divergences, SizeIs(1));
      const Divergence& found = matching.divergences.front();
      EXPECT_FALSE(found.tie);
      ASSERT_THAT(found.sides, SizeIs(2));
      EXPECT_THAT(found.sides[1].ranks, ElementsAre(*odd_));
      EXPECT_THAT(found.sides[1].next, SizeIs(5));
    } else {
      EXPECT_THAT(matching.divergences, IsEmpty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Runs, HarmTest,
    ::testing::Values(HarmCase{"nccl_untouched", Numbers::kNccl, Harm::kNone},
                      HarmCase{"c10d_untouched", Numbers::kC10d, Harm::kNone},
                      HarmCase{"unnumbered_untouched", Numbers::kNone, Harm::kNone},
                      HarmCase{"nccl_dropped", Numbers::kNccl, Harm::kDropped},
                      HarmCase{"c10d_dropped", Numbers::kC10d, Harm::kDropped},
                      HarmCase{"nccl_truncated", Numbers::kNccl, Harm::kTruncated},
                      HarmCase{"c10d_truncated", Numbers::kC10d, Harm::kTruncated},
                      HarmCase{"nccl_swapped", Numbers::kNccl, Harm::kSwapped},
                      HarmCase{"c10d_swapped", Numbers::kC10d, Harm::kSwapped},
                      HarmCase{"nccl_wrong_size", Numbers::kNccl, Harm::kWrongSize},
                      HarmCase{"c10d_wrong_size", Numbers::kC10d, Harm::kWrongSize},
                      HarmCase{"unnumbered_wrong_size", Numbers::kNone, Harm::kWrongSize}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace dprof::analyzer
