// SPDX-License-Identifier: Apache-2.0
// Buckets, contention and overlap of a run known to the nanosecond.
#include "analyzer/breakdown/communication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/breakdown/breakdown.h"
#include "analyzer/breakdown/bucket_model.h"
#include "analyzer/digest/test_support/edit_records.h"
#include "analyzer/waits/test_support/matched.h"

namespace dprof::analyzer {
namespace {

using schema::Function;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMs = kNsPerMs;
constexpr int64_t kStepNs = 100 * kMs;
constexpr int64_t kSteps = 6;

// Three buckets a step, which take 1 ms plus half a nanosecond per byte. Backward runs from 20 to
// 60 ms, and the last bucket is ready when it ends.
struct BucketSpec {
  int64_t bytes;
  int64_t ready;
};
constexpr BucketSpec kSpecs[] = {
    {1 * kMiB, 30 * kMs}, {26 * kMiB, 45 * kMs}, {10 * kMiB, 60 * kMs}};
constexpr int64_t transfer_of(int64_t bytes) { return kMs + bytes / 2; }
constexpr int64_t kExposed = transfer_of(10 * kMiB);
constexpr int64_t kHidden = transfer_of(kMiB) + transfer_of(26 * kMiB);

class CommunicationTest : public ::testing::Test {
 protected:
  CommunicationTest() : digests_(2), pieces_(2) {
    for (size_t r = 0; r < 2; ++r) fill_rank(r);
    for (int64_t s = 0; s < kSteps; ++s) {
      const Interval window{{s * kStepNs}, {(s + 1) * kStepNs}};
      steps_.steps.push_back({.index = s, .windows = {window, window}, .longest_ns = kStepNs});
    }
    steps_.ranks = {0, 1};
    steps_.first_steady = 1;
    steps_.last_steady = kSteps - 1;
  }

  void fill_rank(size_t r) {
    RankDigest& digest = digests_[r];
    digest.rank = static_cast<int>(r);
    digest.span = {{0}, {kSteps * kStepNs}};
    digest.communicators.push_back({.hash = 5, .name = "ddp", .size = 2, .members = {0, 1}});
    for (int64_t s = 0; s < kSteps; ++s) {
      const int64_t at = s * kStepNs;
      for (int64_t b = 0; b < 3; ++b) digest.collectives.push_back(bucket(at, s, b));
      fill_step(pieces_[r], at);
    }
  }

  static CollectiveRecord bucket(int64_t at, int64_t step, int64_t b) {
    const BucketSpec& spec = kSpecs[b];
    CollectiveRecord record;
    record.function = Function::kAllReduce;
    record.sequence = 3 * step + b;
    record.group_sequence = record.sequence;
    record.bytes = spec.bytes;
    record.bucket = b;
    record.ready = TraceNs{at + spec.ready};
    record.enqueue = record.start = record.ready;
    record.end = TraceNs{at + spec.ready + transfer_of(spec.bytes)};
    return record;
  }

  static void fill_step(Lattice& pieces, int64_t at) {
    const auto add = [&](int64_t end, Category category, Category phase) {
      const TraceNs begin = pieces.span().end;
      pieces.push_back({{begin, {at + end}}, category, phase});
    };
    add(20 * kMs, Category::kForward, Category::kForward);
    for (int64_t b = 0; b < 2; ++b) {
      add(kSpecs[b].ready, Category::kBackward, Category::kBackward);
      add(kSpecs[b].ready + transfer_of(kSpecs[b].bytes), Category::kOverlapped,
          Category::kBackward);
    }
    add(60 * kMs, Category::kBackward, Category::kBackward);
    add(60 * kMs + kExposed, Category::kExposedTransfer, Category::kExposedTransfer);
    add(80 * kMs, Category::kOptimizer, Category::kOptimizer);
    add(kStepNs, Category::kHost, Category::kHost);
  }

  void settle() { matching_ = matched(digests_, true); }
  [[nodiscard]] CommunicationInput input() const { return {digests_, matching_, steps_, pieces_}; }

  [[nodiscard]] Overlap overlap() const {
    StepSums sums;
    for (size_t r = 0; r < 2; ++r) {
      std::vector<Interval> windows;
      for (const AlignedStep& step : steps_.steps) windows.push_back(step.windows[r]);
      sums.push_back(sum_over(pieces_[r], windows));
    }
    return overlap_of(input(), sums);
  }

  std::vector<RankDigest> digests_;
  Matching matching_;
  Steps steps_;
  std::vector<Lattice> pieces_;
  std::vector<Diagnostic> notes_;
};

TEST_F(CommunicationTest, BucketsAreThoseOfTheRun) {
  settle();
  const auto buckets = buckets_of(input(), notes_);
  ASSERT_TRUE(buckets);
  ASSERT_THAT(buckets->buckets, SizeIs(3));
  for (size_t b = 0; b < 3; ++b) {
    const BucketSummary& one = buckets->buckets[b];
    EXPECT_EQ(one.bucket, static_cast<int64_t>(b));
    EXPECT_EQ(one.bytes, kSpecs[b].bytes);
    EXPECT_EQ(one.n, 2 * (kSteps - 1));
    EXPECT_EQ(one.order_delay_ns, 0);
    EXPECT_EQ(one.queue_delay_ns, 0);
    EXPECT_EQ(one.transfer_ns, transfer_of(kSpecs[b].bytes));
    EXPECT_EQ(one.wait_ns, 0);
    EXPECT_EQ(one.exposed_ns, b == 2 ? kExposed : 0);
  }
  EXPECT_EQ(buckets->buckets[0].fill_delay_ns, std::nullopt);
  EXPECT_EQ(buckets->buckets[1].fill_delay_ns, 15 * kMs);
}

TEST_F(CommunicationTest, SearchesTheLimitsThatCanBeJudged) {
  settle();
  const auto buckets = buckets_of(input(), notes_);
  ASSERT_TRUE(buckets);
  EXPECT_NEAR(static_cast<double>(buckets->present_exposed_ns.value_or(0)), kExposed, 2);
  EXPECT_NEAR(static_cast<double>(buckets->bound_ns.value_or(0)), kExposed, 2);
  // 26 MiB was closed as full; together with the next bucket it is 36 MiB.
  ASSERT_THAT(buckets->caps, SizeIs(4));
  EXPECT_EQ(buckets->caps[0].cap_bytes, 50 * kMiB);
  EXPECT_EQ(buckets->caps[0].buckets, 2);
  EXPECT_NEAR(static_cast<double>(buckets->caps[0].exposed_ns), transfer_of(36 * kMiB), 2);
  EXPECT_EQ(buckets->caps[3].cap_bytes, std::nullopt);
  EXPECT_EQ(buckets->caps[3].buckets, 1);
  EXPECT_NEAR(static_cast<double>(buckets->caps[3].exposed_ns), transfer_of(37 * kMiB), 2);
  EXPECT_THAT(notes_, Contains(Field(&Diagnostic::text, HasSubstr("bucket limits below"))));
}

TEST_F(CommunicationTest, QueuedBehindAnother) {
  for (RankDigest& digest : digests_) {
    digest.collectives.edit_all([](CollectiveRecord& record) {
      if (record.bucket == 1) record.enqueue = TraceNs{record.ready->ns + 2 * kMs};
      if (record.bucket == 1) record.start = TraceNs{record.ready->ns + 5 * kMs};
    });
  }
  settle();
  const auto buckets = buckets_of(input(), notes_);
  ASSERT_TRUE(buckets);
  EXPECT_EQ(buckets->buckets[1].order_delay_ns, 2 * kMs);
  EXPECT_EQ(buckets->buckets[1].queue_delay_ns, 3 * kMs);
}

TEST_F(CommunicationTest, OnAGpuTheHostsReadinessDoesNotCount) {
  for (RankDigest& digest : digests_) {
    digest.gpu.devices.emplace_back();
    digest.collectives.edit_all([](CollectiveRecord& record) {
      record.ready = record.enqueue = TraceNs{record.start->ns - 5 * kMs};
    });
  }
  settle();
  const auto buckets = buckets_of(input(), notes_);
  ASSERT_TRUE(buckets);
  EXPECT_EQ(buckets->buckets[1].queue_delay_ns, 5 * kMs);
  EXPECT_NEAR(static_cast<double>(buckets->present_exposed_ns.value_or(0)), kExposed, 2);
  EXPECT_EQ(overlap().per_rank[0].hideable_ns, 0);
}

TEST_F(CommunicationTest, OnAGpuAQueuedBucketsReadinessIsNotKnown) {
  for (RankDigest& digest : digests_) {
    digest.gpu.devices.emplace_back();
    for (size_t i = 2; i < digest.collectives.size(); i += 3)
      digest.collectives.edit(i).start = *digest.collectives[i - 1].end + DurationNs{3'000};
  }
  settle();
  const auto buckets = buckets_of(input(), notes_);
  ASSERT_TRUE(buckets);
  EXPECT_EQ(buckets->present_exposed_ns, std::nullopt);
  EXPECT_THAT(buckets->caps, IsEmpty());
}

TEST_F(CommunicationTest, WithoutReadinessThereIsNoSearch) {
  for (RankDigest& digest : digests_) {
    digest.collectives.edit_all([](CollectiveRecord& record) { record.ready.reset(); });
  }
  settle();
  const auto buckets = buckets_of(input(), notes_);
  ASSERT_TRUE(buckets);
  EXPECT_THAT(buckets->buckets, SizeIs(3));
  EXPECT_EQ(buckets->buckets[1].order_delay_ns, std::nullopt);
  EXPECT_EQ(buckets->present_exposed_ns, std::nullopt);
  EXPECT_THAT(buckets->caps, IsEmpty());
  EXPECT_THAT(notes_, Contains(Field(&Diagnostic::text, HasSubstr("when gradients were ready"))));
}

TEST_F(CommunicationTest, WithoutSizesToFitThereIsNoSearch) {
  for (RankDigest& digest : digests_) {
    std::vector<CollectiveRecord> list = list_of(digest.collectives);
    std::erase_if(list, [](const CollectiveRecord& r) { return r.bucket == 0; });
    digest.collectives = list;
  }
  settle();
  const auto buckets = buckets_of(input(), notes_);
  ASSERT_TRUE(buckets);
  EXPECT_THAT(buckets->caps, IsEmpty());
  EXPECT_THAT(notes_, Contains(Field(&Diagnostic::text, HasSubstr("all-reduces of 3 sizes"))));
}

TEST_F(CommunicationTest, NoBucketsAreSaidSo) {
  for (RankDigest& digest : digests_) {
    digest.collectives.edit_all([](CollectiveRecord& record) { record.bucket.reset(); });
  }
  settle();
  EXPECT_FALSE(buckets_of(input(), notes_));
  EXPECT_THAT(notes_, Each(Field(&Diagnostic::code, "not_computed")));
  EXPECT_THAT(notes_, SizeIs(1));
}

TEST_F(CommunicationTest, BackwardThatLeftNoTraceIsNotModelled) {
  // Each step reduces the three buckets a second time, after its only backward.
  for (size_t r = 0; r < 2; ++r) {
    std::vector<CollectiveRecord> more;
    for (const CollectiveRecord& record : digests_[r].collectives) {
      more.push_back(record);
      if (record.bucket != 2) continue;
      for (int64_t b = 0; b < 3; ++b) {
        CollectiveRecord again = record;
        again.bucket = b;
        again.bytes = kSpecs[b].bytes;
        again.enqueue = again.start = again.ready = TraceNs{record.end->ns + (15 + b) * kMs};
        again.end = TraceNs{again.start->ns + transfer_of(kSpecs[b].bytes)};
        more.push_back(again);
      }
    }
    for (size_t i = 0; i < more.size(); ++i) {
      more[i].sequence = static_cast<int64_t>(i);
      more[i].group_sequence = more[i].sequence;
    }
    digests_[r].collectives = more;
  }
  settle();
  const auto buckets = buckets_of(input(), notes_);
  ASSERT_TRUE(buckets);
  EXPECT_EQ(buckets->buckets[0].n, 4 * (kSteps - 1));
  EXPECT_EQ(buckets->present_exposed_ns, std::nullopt);
  EXPECT_THAT(buckets->caps, IsEmpty());
}

TEST_F(CommunicationTest, OverlapIsExactAndWhatCouldBeHiddenIsSaid) {
  settle();
  const Overlap all = overlap();
  ASSERT_THAT(all.per_rank, SizeIs(2));
  for (const RankOverlap& rank : all.per_rank) {
    EXPECT_EQ(rank.hidden_ns, (kSteps - 1) * kHidden);
    EXPECT_EQ(rank.exposed_transfer_ns, (kSteps - 1) * kExposed);
    EXPECT_EQ(rank.communication_ns, (kSteps - 1) * (kHidden + kExposed));
    EXPECT_EQ(rank.hideable_ns, 0) << "the last gradients come when backward ends";
    EXPECT_DOUBLE_EQ(rank.ratio.value_or(0), rank.best_ratio.value_or(1));
  }
  ASSERT_THAT(all.per_step, SizeIs(kSteps - 1));
  EXPECT_EQ(all.per_step[0].step, 1);
  EXPECT_EQ(all.per_step[0].hidden_ns, 2 * kHidden);
  EXPECT_EQ(all.per_step[0].exposed_transfer_ns, 2 * kExposed);
  ASSERT_THAT(all.per_collective, SizeIs(3));
  int64_t hidden = 0;
  for (const CollectiveOverlap& kind : all.per_collective) {
    EXPECT_EQ(kind.n, 2 * (kSteps - 1));
    EXPECT_EQ(kind.hidden_ns + kind.exposed_wait_ns + kind.exposed_transfer_ns,
              kind.n * transfer_of(kind.bytes.value_or(0)));
    hidden += kind.hidden_ns;
  }
  EXPECT_EQ(hidden, 2 * (kSteps - 1) * kHidden);
}

TEST_F(CommunicationTest, EarlierReadinessCouldHideMore) {
  for (RankDigest& digest : digests_) {
    digest.collectives.edit_all([](CollectiveRecord& record) {
      // From 35 ms on backward computes for 10 ms with nothing beside it.
      if (record.bucket == 2) record.ready = TraceNs{record.ready->ns - 25 * kMs};
    });
  }
  settle();
  const Overlap all = overlap();
  EXPECT_EQ(all.per_rank[0].hideable_ns, (kSteps - 1) * kExposed);
  EXPECT_DOUBLE_EQ(all.per_rank[0].best_ratio.value_or(0), 1);
  EXPECT_EQ(all.per_step[0].hideable_ns, 2 * kExposed);
}

OpTimes op(std::string name, int64_t alone_ns, int64_t beside_ns, int64_t n) {
  OpTimes times{.name = std::move(name), .alone = {}, .beside = {}};
  for (int64_t i = 0; i < n; ++i) {
    times.alone.add(alone_ns);
    times.beside.add(beside_ns);
    times.beside_ns += beside_ns;
  }
  return times;
}

TEST_F(CommunicationTest, ContentionIsWeightedByTime) {
  for (RankDigest& digest : digests_) {
    digest.op_times = {op("aten::mm", 1'000'000, 1'250'000, 100),
                       op("aten::add", 10'000, 10'000, 100)};
  }
  settle();
  const auto contention = contention_of(input(), notes_);
  ASSERT_TRUE(contention);
  EXPECT_NEAR(contention->factor, 1.25, 0.02);
  EXPECT_EQ(contention->operators, 2);
  EXPECT_NEAR(static_cast<double>(contention->hidden_cost_ns), 0.2 * kHidden, 0.02 * kHidden);
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(CommunicationTest, NoContentionCostsNothing) {
  for (RankDigest& digest : digests_) digest.op_times = {op("aten::mm", 1'000'000, 980'000, 50)};
  settle();
  const auto contention = contention_of(input(), notes_);
  ASSERT_TRUE(contention);
  EXPECT_LT(contention->factor, 1);
  EXPECT_EQ(contention->hidden_cost_ns, 0);
}

TEST_F(CommunicationTest, ContentionWithoutOperatorsIsNotComputed) {
  settle();
  EXPECT_FALSE(contention_of(input(), notes_));
  EXPECT_THAT(notes_, Contains(Field(&Diagnostic::code, "not_computed")));
}

TEST_F(CommunicationTest, LinkIsThatOfTheRun) {
  settle();
  const std::vector<LinkFit> fits = link_fits_of(digests_, matching_);
  ASSERT_THAT(fits, SizeIs(1));
  EXPECT_NEAR(fits[0].alpha_ns, kMs, 1);
  EXPECT_NEAR(fits[0].beta_ns_per_byte, 0.5, 1e-6);
  EXPECT_NEAR(fits[0].half_bytes, 2.0 * kMs, 10);
  EXPECT_EQ(fits[0].n, 3 * kSteps);
}

}  // namespace
}  // namespace dprof::analyzer
