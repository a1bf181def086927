// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/lattice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analyzer/breakdown/sums.h"
#include "analyzer/steps/phases.h"

namespace dprof::analyzer {
namespace {

using schema::Marker;

// A digest of the span [0, end).
RankDigest rank_until(int64_t end) {
  RankDigest digest;
  digest.span = {{0}, {end}};
  return digest;
}

void call(RankDigest& digest, int64_t enqueue, int64_t start, int64_t end) {
  CollectiveRecord record;
  record.function = schema::Function::kAllReduce;
  record.enqueue = TraceNs{enqueue};
  record.start = TraceNs{start};
  record.end = TraceNs{end};
  digest.collectives.push_back(record);
}

// The lattice's answer at one moment.
struct Said {
  Category category;
  Category phase;
};

Said at(const Lattice& pieces, int64_t time) {
  for (const LatticePiece& p : pieces) {
    if (p.span.begin.ns <= time && time < p.span.end.ns) return {p.category, p.phase};
  }
  return {Category::kProfiler, Category::kProfiler};
}

Category category_at(const Lattice& pieces, int64_t time) { return at(pieces, time).category; }

TEST(LatticeTest, PhasesAreComputation) {
  RankDigest digest = rank_until(100);
  digest.phases = {{{{0}, {10}}, Marker::kInput, 1},
                   {{{20}, {40}}, Marker::kForward, 2},
                   {{{40}, {60}}, Marker::kBackward, 3},
                   {{{60}, {70}}, Marker::kOptimizer, 4},
                   {{{80}, {90}}, Marker::kCheckpoint, 5}};
  const auto pieces = lattice_of(digest, {});
  EXPECT_EQ(category_at(pieces, 5), Category::kInputWait);
  EXPECT_EQ(category_at(pieces, 15), Category::kHost);
  EXPECT_EQ(category_at(pieces, 30), Category::kForward);
  EXPECT_EQ(category_at(pieces, 50), Category::kBackward);
  EXPECT_EQ(category_at(pieces, 65), Category::kOptimizer);
  EXPECT_EQ(category_at(pieces, 85), Category::kHost);
}

TEST(LatticeTest, BackwardWaitsAfterItsLastNodeAndCall) {
  RankDigest digest = rank_until(200);
  digest.phases = {{{{0}, {180}}, Marker::kBackward, 1}};
  digest.autograd = {{{10}, {40}}, {{50}, {90}}};
  call(digest, 45, 47, 80);    // beside the second node
  call(digest, 95, 100, 150);  // the last one: backward waits for it
  const auto pieces = lattice_of(digest, {{{{47}, {80}}, {60}}, {{{100}, {150}}, {130}}});
  EXPECT_EQ(category_at(pieces, 5), Category::kBackward);
  EXPECT_EQ(category_at(pieces, 60), Category::kOverlapped);
  EXPECT_EQ(at(pieces, 60).phase, Category::kBackward);
  EXPECT_EQ(category_at(pieces, 92), Category::kBackward);    // the hook before the call
  EXPECT_EQ(category_at(pieces, 97), Category::kDependency);  // called, not yet begun
  EXPECT_EQ(category_at(pieces, 120), Category::kExposedWait);
  EXPECT_EQ(category_at(pieces, 140), Category::kExposedTransfer);
  EXPECT_EQ(category_at(pieces, 170), Category::kBackward);  // copying back
}

TEST(LatticeTest, SleepInAHookIsTheRanksOwn) {
  constexpr int64_t kMs = 1'000'000;
  RankDigest digest = rank_until(300 * kMs);
  digest.phases = {{{{0}, {280 * kMs}}, Marker::kBackward, 1}};
  digest.autograd = {{{10 * kMs}, {40 * kMs}}, {{240 * kMs}, {250 * kMs}}};  // asleep between them
  call(digest, 45 * kMs, 46 * kMs, 60 * kMs);
  call(digest, 255 * kMs, 256 * kMs, 270 * kMs);
  const auto pieces = lattice_of(
      digest, {{{{46 * kMs}, {60 * kMs}}, {50 * kMs}}, {{{256 * kMs}, {270 * kMs}}, {257 * kMs}}});
  EXPECT_EQ(category_at(pieces, 55 * kMs), Category::kOverlapped);
  EXPECT_EQ(category_at(pieces, 150 * kMs), Category::kBackward);
  EXPECT_EQ(category_at(pieces, 265 * kMs), Category::kExposedTransfer);
}

TEST(LatticeTest, CollectiveCalledBetweenTwoNodesBlocksWhereTheThreadGoesOnAtItsEnd) {
  constexpr int64_t kUs = 1000;
  const auto category_where = [&](int64_t next_node_us) {
    RankDigest digest = rank_until(9'000 * kUs);
    digest.phases = {{{{0}, {9'000 * kUs}}, Marker::kBackward, 1}};
    digest.autograd = {{{0}, {1'000 * kUs}}, {{next_node_us * kUs}, {8'000 * kUs}}};
    digest.ops = {{{1'010 * kUs}, {1'030 * kUs}}};  // the call
    call(digest, 1'010 * kUs, 1'040 * kUs, 5'000 * kUs);
    call(digest, 8'100 * kUs, 8'200 * kUs, 8'300 * kUs);
    const auto pieces = lattice_of(digest, {{{{1'040 * kUs}, {5'000 * kUs}}, {4'000 * kUs}}});
    return category_at(pieces, 2'000 * kUs);
  };
  EXPECT_EQ(category_where(5'050), Category::kExposedWait);
  EXPECT_EQ(category_where(4'500), Category::kOverlapped);  // it did not wait for its end
  EXPECT_EQ(category_where(6'500), Category::kOverlapped);  // it slept for something else
}

TEST(LatticeTest, CollectiveCalledInForwardBlocksIt) {
  RankDigest digest = rank_until(100);
  digest.phases = {{{{0}, {90}}, Marker::kForward, 1}};
  call(digest, 20, 22, 40);
  const auto pieces = lattice_of(digest, {{{{22}, {40}}, {22}}});
  EXPECT_EQ(category_at(pieces, 10), Category::kForward);
  EXPECT_EQ(category_at(pieces, 30), Category::kExposedTransfer);
  EXPECT_EQ(category_at(pieces, 50), Category::kForward);
  digest.ops = {{{23}, {38}}};  // an operator at the same time: it went on
  EXPECT_EQ(category_at(lattice_of(digest, {{{{22}, {40}}, {22}}}), 30), Category::kOverlapped);
}

TEST(LatticeTest, CollectiveCalledInANodeBlocksIt) {
  RankDigest digest = rank_until(100);
  digest.phases = {{{{0}, {90}}, Marker::kBackward, 1}};
  digest.autograd = {{{10}, {60}}, {{65}, {80}}};
  call(digest, 20, 20, 40);
  const auto pieces = lattice_of(digest, {{{{20}, {40}}, {20}}});
  EXPECT_EQ(category_at(pieces, 30), Category::kExposedTransfer);
  EXPECT_EQ(category_at(pieces, 50), Category::kBackward);
}

TEST(LatticeTest, CollectiveOfAnotherThreadBlocksNobody) {
  RankDigest digest = rank_until(100);
  digest.phases = {{{{0}, {90}}, Marker::kForward, 1}};
  call(digest, 20, 20, 40);
  digest.collectives.edit_all([](CollectiveRecord& record) { record.by_training_thread = false; });
  EXPECT_EQ(category_at(lattice_of(digest, {{{{20}, {40}}, {20}}}), 30), Category::kOverlapped);
}

TEST(LatticeTest, BarrierBetweenPhasesIsExposed) {
  RankDigest digest = rank_until(100);
  call(digest, 20, 20, 40);
  const auto pieces = lattice_of(digest, {{{{20}, {40}}, {35}}});
  EXPECT_EQ(category_at(pieces, 30), Category::kExposedWait);
  EXPECT_EQ(category_at(pieces, 37), Category::kExposedTransfer);
}

TEST(LatticeTest, BackwardIsInferredFromNodes) {
  RankDigest digest = rank_until(300);
  digest.phases = {{{{0}, {50}}, Marker::kForward, 1}, {{{200}, {220}}, Marker::kOptimizer, 2}};
  digest.autograd = {{{60}, {80}}, {{90}, {120}}};
  call(digest, 125, 126, 160);
  const auto pieces = lattice_of(digest, {{{{126}, {160}}, {130}}});
  EXPECT_EQ(category_at(pieces, 55), Category::kHost);
  EXPECT_EQ(category_at(pieces, 85), Category::kBackward);  // between nodes
  EXPECT_EQ(category_at(pieces, 122), Category::kBackward);
  EXPECT_EQ(category_at(pieces, 128), Category::kExposedWait);
  EXPECT_EQ(category_at(pieces, 150), Category::kExposedTransfer);
  EXPECT_EQ(category_at(pieces, 180), Category::kHost);
  EXPECT_EQ(category_at(pieces, 210), Category::kOptimizer);
}

TEST(LatticeTest, OperatorsOutsideOfPhasesAreOtherComputation) {
  RankDigest digest = rank_until(100);
  digest.ops = {{{10}, {20}}, {{30}, {40}}};
  digest.phases = {{{{25}, {50}}, Marker::kInput, 1}};
  const auto pieces = lattice_of(digest, {});
  EXPECT_EQ(category_at(pieces, 15), Category::kOtherCompute);
  EXPECT_EQ(category_at(pieces, 35), Category::kInputWait);  // the loader's own
}

TEST(LatticeTest, ExplicitWaitWithNothingRunningIsADependency) {
  RankDigest digest = rank_until(100);
  digest.phases = {{{{0}, {90}}, Marker::kForward, 1}};
  digest.waits = {{{30}, {60}}};
  EXPECT_EQ(category_at(lattice_of(digest, {}), 40), Category::kDependency);
}

TEST(LatticeTest, HostTimeSaysWhatIsKnown) {
  RankDigest digest = rank_until(100);
  digest.named = {{{10}, {20}}};
  digest.phases = {{{{40}, {50}}, Marker::kCheckpoint, 1}};
  const Lattice pieces = lattice_of(digest, {});
  const std::vector<Interval> windows = {{{0}, {100}}};
  const Sums sums = sum_over(pieces, windows).front();
  EXPECT_EQ(sums.of(HostDetail::kRange), 10);
  EXPECT_EQ(sums.of(HostDetail::kCheckpoint), 10);
  EXPECT_EQ(sums.of(HostDetail::kUnattributed), 80);
}

TEST(LatticeTest, AllocatorAndCollectionAreApartFromPhases) {
  RankDigest digest = rank_until(100);
  digest.phases = {{{{0}, {60}}, Marker::kForward, 1}};
  digest.ops = {{{10}, {20}}};
  digest.allocations = {{{5}, {15}}, {{70}, {80}}};
  digest.gc = {{{30}, {40}}};
  digest.logging = {{{80}, {90}}};
  digest.profiler = {{{12}, {14}}, {{50}, {52}}};
  const Lattice pieces = lattice_of(digest, {});
  const std::vector<Interval> windows = {{{0}, {100}}};
  const Sums sums = sum_over(pieces, windows).front();
  EXPECT_EQ(sums.of(Category::kAllocator), 15);  // an operator computes
  EXPECT_EQ(sums.of(HostDetail::kGc), 10);
  EXPECT_EQ(sums.of(HostDetail::kLogging), 10);
  EXPECT_EQ(sums.of(Category::kProfiler), 4);
  EXPECT_EQ(sums.of(Category::kForward), 60 - 5 - 10 - 4);
  EXPECT_EQ(sums.total(), 100);
}

TEST(InnermostTest, LaterBeginWins) {
  const auto pieces = innermost({{{{0}, {100}}, Marker::kForward, 1},
                                 {{{20}, {60}}, Marker::kInput, 2},
                                 {{{30}, {120}}, Marker::kOptimizer, 3}});
  const auto marker_at = [&](int64_t time) {
    for (const PhasePiece& p : pieces) {
      if (p.span.begin.ns <= time && time < p.span.end.ns) return p.marker;
    }
    return Marker::kNone;
  };
  EXPECT_EQ(marker_at(10), Marker::kForward);
  EXPECT_EQ(marker_at(25), Marker::kInput);
  EXPECT_EQ(marker_at(50), Marker::kOptimizer);
  EXPECT_EQ(marker_at(110), Marker::kOptimizer);
}

// --- against a raster of one nanosecond ---

class RasterTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  static constexpr int64_t kEnd = 400;

  int64_t random(int64_t limit) { return static_cast<int64_t>(random_() % limit); }

  Interval span() {
    const int64_t begin = random(kEnd);
    return {{begin}, {std::min(kEnd, begin + random(60))}};
  }

  IntervalSet set(int64_t count) {
    std::vector<Interval> spans;
    for (int64_t i = 0; i < count; ++i) spans.push_back(span());
    return union_of(std::move(spans));
  }

  RankDigest random_rank() {
    RankDigest digest = rank_until(kEnd);
    constexpr Marker kMarkers[] = {Marker::kInput, Marker::kForward, Marker::kBackward,
                                   Marker::kOptimizer, Marker::kCheckpoint};
    for (int64_t i = random(8); i > 0; --i)
      digest.phases.push_back({span(), kMarkers[random(5)], i});
    std::ranges::stable_sort(digest.phases, {}, [](const PhaseRange& p) { return p.span.begin; });
    digest.autograd = set(random(6));
    digest.autograd_elsewhere = set(random(2));
    digest.ops = set(random(6));
    digest.waits = set(random(3));
    digest.named = set(random(4));
    digest.allocations = set(random(3));
    digest.gc = set(random(3));
    digest.logging = set(random(2));
    digest.profiler = set(random(2));
    for (int64_t i = random(5); i > 0; --i) {
      const Interval s = span();
      call(digest, std::max<int64_t>(0, s.begin.ns - random(10)), s.begin.ns, s.end.ns);
    }
    return digest;
  }

  std::mt19937_64 random_{GetParam()};
};

bool covers(const IntervalSet& set, int64_t time) {
  for (const Interval& i : set) {
    if (i.begin.ns <= time && time < i.end.ns) return true;
  }
  return false;
}

// The definition applied to one moment, without a sweep.
Category by_definition(const RankDigest& digest, const std::vector<CommSpan>& comm,
                       const std::vector<PhaseRange>& phases, const IntervalSet& blocked,
                       int64_t time) {
  Marker phase = Marker::kNone;
  for (const PhaseRange& p : phases) {  // in order of begin: the last that covers it is innermost
    if (p.span.begin.ns <= time && time < p.span.end.ns) phase = p.marker;
  }
  const bool node = covers(digest.autograd, time) || covers(digest.autograd_elsewhere, time);
  const bool waits = covers(blocked, time);
  Category compute = Category::kOtherCompute;
  if (phase == Marker::kForward) compute = Category::kForward;
  if (phase == Marker::kOptimizer) compute = Category::kOptimizer;
  if (node || phase == Marker::kBackward) compute = Category::kBackward;
  const bool loads = phase == Marker::kInput || phase == Marker::kCheckpoint;
  const bool aside = covers(digest.allocations, time) || covers(digest.gc, time);
  const bool in_phase = compute != Category::kOtherCompute && !aside;
  const bool computes = !waits && (node || (!loads && (covers(digest.ops, time) || in_phase)));
  if (covers(digest.profiler, time)) return Category::kProfiler;
  const CommSpan* last = nullptr;
  for (const CommSpan& c : comm) {
    if (c.span.begin.ns > time || c.span.end.ns <= time) continue;
    if (last == nullptr || c.span.end > last->span.end) last = &c;
  }
  if (last != nullptr && computes) return Category::kOverlapped;
  if (last != nullptr)
    return time < last->arrive.ns ? Category::kExposedWait : Category::kExposedTransfer;
  if (computes) return compute;
  if (waits) return Category::kDependency;
  if (phase == Marker::kInput) return Category::kInputWait;
  return covers(digest.allocations, time) ? Category::kAllocator : Category::kHost;
}

TEST_P(RasterTest, EveryNanosecondHasTheCategoryOfTheDefinition) {
  for (int round = 0; round < 200; ++round) {
    const RankDigest digest = random_rank();
    std::vector<CommSpan> comm;
    for (const CollectiveRecord& c : digest.collectives) {
      const int64_t length = (*c.end - *c.start).ns;
      comm.push_back(
          {{*c.start, *c.end}, *c.start + DurationNs{length == 0 ? 0 : random(length + 1)}});
    }
    // Coinciding ends have no order; keep them apart.
    std::ranges::sort(comm, {}, [](const CommSpan& s) { return s.span.begin; });
    bool same_end = false;
    for (size_t i = 0; i < comm.size(); ++i) {
      for (size_t j = 0; j < i; ++j) same_end = same_end || comm[i].span.end == comm[j].span.end;
    }
    if (same_end) continue;
    const Lattice pieces = lattice_of(digest, comm);
    const std::vector<PhaseRange> phases = with_inferred_phases(digest);
    const IntervalSet blocked = blocked_times(digest, phases);
    int64_t covered = 0;
    for (size_t p = 0; p < pieces.size(); ++p) {
      const Interval& span = pieces[p].span;
      if (p > 0) {
        ASSERT_EQ(span.begin, pieces[p - 1].span.end);
      }
      covered += span.length().ns;
      for (int64_t t = span.begin.ns; t < span.end.ns; ++t) {
        ASSERT_EQ(key_of(pieces[p].category),
                  key_of(by_definition(digest, comm, phases, blocked, t)))
            << "at " << t << ", round " << round;
      }
    }
    ASSERT_EQ(covered, kEnd);
  }
}

TEST_P(RasterTest, SumsAreExactOverAnyWindows) {
  for (int round = 0; round < 50; ++round) {
    const Lattice pieces = lattice_of(random_rank(), {});
    std::vector<Interval> windows;
    for (int64_t begin = -random(50); begin < kEnd + 40;) {
      const int64_t end = begin + random(90);
      windows.push_back({{begin}, {end}});
      begin = end + random(20);
    }
    const std::vector<Sums> sums = sum_over(pieces, windows);
    ASSERT_EQ(sums.size(), windows.size());
    for (size_t w = 0; w < windows.size(); ++w) ASSERT_EQ(sums[w].total(), windows[w].length().ns);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RasterTest, ::testing::Range<uint64_t>(1, 11));

TEST(OwnClockTest, StopsWhileHeldUp) {
  RankDigest digest = rank_until(100);
  call(digest, 20, 20, 40);
  call(digest, 60, 60, 70);
  const OwnClock clock(lattice_of(digest, {{{{20}, {40}}, {30}}, {{{60}, {70}}, {65}}}));
  EXPECT_EQ(clock.at({0}), 0);
  EXPECT_EQ(clock.at({20}), 20);
  EXPECT_EQ(clock.at({30}), 20);
  EXPECT_EQ(clock.at({50}), 30);
  EXPECT_EQ(clock.at({100}), 70);
}

}  // namespace
}  // namespace dprof::analyzer
