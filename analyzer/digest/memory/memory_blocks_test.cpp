// SPDX-License-Identifier: Apache-2.0
// Against a brute-force live set: allocations, frees, lost records, an initial state.
#include "analyzer/digest/memory/memory_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "analyzer/digest/memory/memory_segments.h"

namespace dprof::analyzer {
namespace {

using schema::MemoryCategory;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

struct BlockEvent {
  bool allocate = true;
  int64_t address = 0;
  int64_t bytes = 0;
};

// Blocks come and go at addresses that never overlap; a few exist at the start.
class Script {
 public:
  explicit Script(uint64_t seed, int events, int before) : random_(seed) {
    for (int i = 0; i < before; ++i) allocate();
    before_ = live_;
    events_.clear();
    for (int i = 0; i < events; ++i) {
      if (live_.empty() || random_() % 100 < 52) {
        allocate();
      } else {
        free();
      }
    }
  }

  std::vector<BlockEvent> events_;
  std::map<int64_t, int64_t> before_;  // address to bytes

 private:
  void allocate() {
    int64_t place = 0;
    do {
      place = static_cast<int64_t>(random_() % 512);
    } while (live_.contains((place + 1) << 20));
    const int64_t address = (place + 1) << 20;
    const int64_t bytes = 1 + static_cast<int64_t>(random_() % (1 << 20));
    live_[address] = bytes;
    events_.push_back({true, address, bytes});
  }
  void free() {
    auto one = live_.begin();
    std::advance(one, static_cast<std::ptrdiff_t>(random_() % live_.size()));
    events_.push_back({false, one->first, one->second});
    live_.erase(one);
  }

  std::mt19937_64 random_;
  std::map<int64_t, int64_t> live_;
};

struct Truth {
  int64_t peak = 0;
  std::map<int64_t, int64_t> at_peak;
  std::map<int64_t, int64_t> at_end;
};

// Initial blocks that are never freed are invisible: the truth leaves them out.
Truth brute_force(const Script& script) {
  std::map<int64_t, int64_t> live;
  {
    std::map<int64_t, int64_t> untouched = script.before_;
    for (const BlockEvent& event : script.events_) {
      const auto known = untouched.find(event.address);
      if (known == untouched.end()) continue;
      if (!event.allocate) live[known->first] = known->second;
      untouched.erase(known);
    }
  }
  Truth truth;
  const auto look = [&] {
    int64_t level = 0;
    for (const auto& [address, bytes] : live) level += bytes;
    if (level <= truth.peak) return;
    truth.peak = level;
    truth.at_peak = live;
  };
  look();
  for (const BlockEvent& event : script.events_) {
    if (event.allocate) {
      live[event.address] = event.bytes;
    } else {
      live.erase(event.address);
    }
    look();
  }
  truth.at_end = live;
  return truth;
}

std::vector<int64_t> sizes_of(const std::map<int64_t, int64_t>& blocks) {
  std::vector<int64_t> sizes;
  for (const auto& [address, bytes] : blocks) sizes.push_back(bytes);
  std::ranges::sort(sizes);
  return sizes;
}

std::vector<int64_t> sizes_of(const std::vector<LiveBlock>& blocks) {
  std::vector<int64_t> sizes;
  for (const LiveBlock& block : blocks) sizes.push_back(block.bytes);
  std::ranges::sort(sizes);
  return sizes;
}

class LiveBlocksTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(LiveBlocksTest, AgreesWithBruteForce) {
  const Script script(GetParam(), 600, GetParam() % 2 == 0 ? 0 : 40);
  const Truth truth = brute_force(script);
  LiveBlocks blocks;
  int64_t peak = 0;
  blocks.reached(0);
  int64_t time = 0;
  for (const BlockEvent& event : script.events_) {
    ++time;
    if (event.allocate) {
      blocks.allocate(time, event.address, event.bytes, 0, MemoryCategory::kUnknown);
    } else {
      EXPECT_EQ(blocks.free(time, event.address, event.bytes), event.bytes);
    }
    if (blocks.reached(blocks.level())) peak = blocks.level();
  }
  EXPECT_EQ(peak + blocks.offset(), truth.peak);
  EXPECT_THAT(sizes_of(blocks.at_peak()), ElementsAreArray(sizes_of(truth.at_peak)));
  EXPECT_EQ(blocks.reused(), 0);
  std::map<int64_t, int64_t> made = truth.at_end;
  EXPECT_THAT(sizes_of(blocks.at_end()), ElementsAreArray(sizes_of(made)));
}

INSTANTIATE_TEST_SUITE_P(Seeds, LiveBlocksTest, ::testing::Range<uint64_t>(1, 21));

TEST(LiveBlocksRules, AnAddressThatIsHandedOutAgainWasFreedUnseen) {
  LiveBlocks blocks;
  blocks.allocate(1, 1000, 100, 0, MemoryCategory::kUnknown);
  blocks.allocate(2, 1050, 10, 0, MemoryCategory::kUnknown);  // within the first
  EXPECT_EQ(blocks.level(), 10);
  EXPECT_EQ(blocks.reused(), 1);
  blocks.allocate(3, 1000, 200, 0, MemoryCategory::kUnknown);  // over the second
  EXPECT_EQ(blocks.level(), 200);
  EXPECT_EQ(blocks.reused(), 2);
  EXPECT_EQ(blocks.free(4, 1000, 0), 200) << "the size is that of the block";
  EXPECT_EQ(blocks.level(), 0);
  EXPECT_EQ(blocks.offset(), 0);
}

TEST(LiveBlocksRules, WhatIsFreedAndWasNeverSeenWasThereBefore) {
  LiveBlocks blocks;
  blocks.reached(0);
  blocks.free(1, 500, 70);
  blocks.allocate(2, 600, 30, 0, MemoryCategory::kUnknown);
  EXPECT_EQ(blocks.level(), -40);
  EXPECT_EQ(blocks.offset(), 70);
  EXPECT_EQ(blocks.unmatched_frees(), 1);
  EXPECT_THAT(sizes_of(blocks.at_peak()), ElementsAreArray({70}));
}

TEST(LiveBlocksRules, NamesHoldForTheBlockAndNotForWhatComesThereLater) {
  LiveBlocks blocks;
  blocks.allocate(1, 1000, 100, 0, MemoryCategory::kUnknown);
  blocks.name(1040, 20, MemoryCategory::kGradient);  // a view
  blocks.reached(blocks.level());
  EXPECT_EQ(blocks.at_peak().front().said, MemoryCategory::kGradient);
  blocks.name(1000, 100, MemoryCategory::kBucket);
  blocks.name(1040, 20, MemoryCategory::kGradient);
  EXPECT_EQ(blocks.at_peak().front().said, MemoryCategory::kBucket);
  blocks.free(2, 1000, 100);
  blocks.allocate(3, 1000, 300, 0, MemoryCategory::kUnknown);
  blocks.reached(blocks.level());
  EXPECT_EQ(blocks.at_peak().front().said, MemoryCategory::kUnknown);
}

TEST(LiveBlocksRules, ANamedBlockThatNobodySawAllocatedCountsFromTheBeginning) {
  LiveBlocks blocks;
  blocks.reached(0);
  blocks.name(1000, 400, MemoryCategory::kParameter);
  EXPECT_EQ(blocks.level(), 0);
  EXPECT_EQ(blocks.offset(), 400);
  EXPECT_EQ(blocks.free(5, 1000, 512), 512) << "only a part of it had been named";
  EXPECT_EQ(blocks.level(), -512);
  EXPECT_EQ(blocks.offset(), 512);
  EXPECT_THAT(blocks.at_end(), IsEmpty());
}

TEST(LiveBlocksRules, NamesThatOverlapCountOnce) {
  LiveBlocks blocks;
  blocks.reached(0);
  blocks.name(1100, 100, MemoryCategory::kGradient);
  blocks.name(1200, 300, MemoryCategory::kGradient);
  blocks.name(1000, 1000, MemoryCategory::kBucket);  // which holds both
  EXPECT_EQ(blocks.offset(), 1000);
  ASSERT_EQ(blocks.at_peak().size(), 1U);
  EXPECT_EQ(blocks.at_peak().front().said, MemoryCategory::kBucket);
  blocks.allocate(1, 5000, 64, 0, MemoryCategory::kUnknown);
  blocks.name(4990, 100, MemoryCategory::kParameter);  // overlaps one that was seen
  EXPECT_EQ(blocks.offset(), 1000);
  EXPECT_EQ(blocks.at_end().front().said, MemoryCategory::kParameter);
}

TEST(LiveBlocksRules, AddressesMayBeMissingOrHigh) {
  LiveBlocks blocks;
  blocks.allocate(1, 0, 10, 0, MemoryCategory::kUnknown);
  blocks.allocate(2, 0, 20, 0, MemoryCategory::kUnknown);
  blocks.free(3, 0, 10);
  EXPECT_EQ(blocks.level(), 20);
  EXPECT_EQ(blocks.offset(), 0);
  blocks.allocate(4, -1, LiveBlocks::kMostBytes, 0, MemoryCategory::kUnknown);
  blocks.name(-1, 1, MemoryCategory::kParameter);
  EXPECT_EQ(blocks.free(5, -1, 0), LiveBlocks::kMostBytes);
  EXPECT_EQ(blocks.level(), 20);
}

TEST(SegmentsTest, FreePartsOfUsedSegmentsCannotBeGivenBack) {
  Segments segments;
  EXPECT_FALSE(segments.split());
  segments.allocate(0x1000, 0x1000);
  segments.allocate(0x8000, 0x2000);
  EXPECT_EQ(segments.reserved(), 0x3000);
  EXPECT_EQ(segments.split(), 0) << "whole segments can be";
  segments.use(0x1800, 0x100);
  EXPECT_EQ(segments.split(), 0xF00);
  segments.use(0x8000, 0x2000);
  EXPECT_EQ(segments.split(), 0xF00);
  segments.release(0x8000, 0x2000);
  segments.release(0x1800, 0x100);
  EXPECT_EQ(segments.split(), 0);
  segments.free(0x8000, 0x2000);
  segments.free(0x20000, 0x4000);  // from before
  EXPECT_EQ(segments.reserved() + segments.offset(), 0x1000);
  segments.use(0x50000, 8);  // in no known segment
  EXPECT_FALSE(segments.split());
}

}  // namespace
}  // namespace dprof::analyzer
