// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/exposure.h"

#include <gtest/gtest.h>

#include <random>

namespace dprof::analyzer {
namespace {

LatticePiece piece(int64_t begin, int64_t end, Category category, Category phase) {
  return {{{begin}, {end}}, category, phase};
}
LatticePiece piece(int64_t begin, int64_t end, Category category) {
  return piece(begin, end, category, category);
}

TEST(TimeIndexTest, EqualsARasterOfSingleNanoseconds) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<bool> raster(300);
    std::vector<Interval> spans;
    for (int i = 0; i < 8; ++i) {
      const auto begin = static_cast<int64_t>(random() % 280);
      const auto end = begin + static_cast<int64_t>(random() % 20);
      spans.push_back({{begin}, {end}});
      for (int64_t t = begin; t < end; ++t) raster[static_cast<size_t>(t)] = true;
    }
    const TimeIndex index(union_of(spans));
    for (int i = 0; i < 50; ++i) {
      const auto begin = static_cast<int64_t>(random() % 300);
      const auto end = static_cast<int64_t>(random() % 300);
      int64_t expected = 0;
      for (int64_t t = begin; t < end; ++t) expected += raster[static_cast<size_t>(t)] ? 1 : 0;
      EXPECT_EQ(index.within({begin}, {end}), expected);
    }
  }
}

// forward 0-100, backward 100-200 with communication beside its second half, then communication
// alone until 260, a copy 260-270, optimizer 270-300.
Lattice a_step() {
  return {piece(0, 100, Category::kForward),
          piece(100, 150, Category::kBackward),
          piece(150, 200, Category::kOverlapped, Category::kBackward),
          piece(200, 260, Category::kExposedTransfer),
          piece(260, 270, Category::kCopy),
          piece(270, 300, Category::kOptimizer)};
}

TEST(ExposureTest, PartsAreExact) {
  const Lattice step = a_step();
  const RankTime time(step);
  const Exposure whole = time.exposure({{150}, {260}}, 80);
  EXPECT_EQ(whole.hidden_ns, 50);
  EXPECT_EQ(whole.exposed_wait_ns, 30);
  EXPECT_EQ(whole.exposed_transfer_ns, 30);
  const Exposure alone = time.exposure({{210}, {230}}, 0);
  EXPECT_EQ(alone.hidden_ns, 0);
  EXPECT_EQ(alone.exposed_transfer_ns, 20);
}

TEST(ExposureTest, PartsSumToTheLengthWhateverTheSpan) {
  const Lattice step = a_step();
  const RankTime time(step);
  std::mt19937_64 random(9);
  for (int i = 0; i < 1000; ++i) {
    const auto begin = static_cast<int64_t>(random() % 300);
    const auto length = static_cast<int64_t>(random() % 100);
    const auto wait = static_cast<int64_t>(random() % static_cast<uint64_t>(length + 1));
    const Exposure e = time.exposure({{begin}, {begin + length}}, wait);
    EXPECT_EQ(e.hidden_ns + e.exposed_ns(), length);
    EXPECT_GE(e.hidden_ns, 0);
    EXPECT_GE(e.exposed_wait_ns, 0);
    EXPECT_GE(e.exposed_transfer_ns, 0);
  }
}

TEST(ExposureTest, FindsPhases) {
  const Lattice step = a_step();
  const RankTime time(step);
  EXPECT_EQ(time.backward_end({0}, {300}), TraceNs{200});
  EXPECT_EQ(time.backward_end({0}, {180}), TraceNs{180});
  EXPECT_EQ(time.backward_end({200}, {300}), std::nullopt);
  EXPECT_EQ(time.backward_end({0}, {100}), std::nullopt);
  EXPECT_EQ(time.optimizer_after({0}, {300}), TraceNs{270});
  EXPECT_EQ(time.optimizer_after({280}, {300}), std::nullopt);
  EXPECT_EQ(time.free_compute({0}, {300}), 180);
  EXPECT_EQ(time.overlapped({{0}, {160}}), 10);
}

TEST(ExposureTest, NoComputationHidesTwoTransfers) {
  const Lattice step = a_step();
  const RankTime time(step);
  // Ready at 120: 30 ns of backward are free until the optimizer at 270.
  EXPECT_EQ(most_hideable(time, {{{120}, 20}}, {270}), 20);
  EXPECT_EQ(most_hideable(time, {{{120}, 100}}, {270}), 30);
  EXPECT_EQ(most_hideable(time, {{{120}, 20}, {{120}, 20}}, {270}), 30);
  // The early one can use the forward, and leaves the backward to the other.
  EXPECT_EQ(most_hideable(time, {{{50}, 40}, {{110}, 40}}, {270}), 80);
  EXPECT_EQ(most_hideable(time, {{{220}, 40}}, {270}), 0);
  EXPECT_EQ(most_hideable(time, {}, {270}), 0);
}

}  // namespace
}  // namespace dprof::analyzer
