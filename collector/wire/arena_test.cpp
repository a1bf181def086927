// SPDX-License-Identifier: Apache-2.0
#include "collector/wire/arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>
#include <thread>
#include <vector>

namespace dprof::wire {
namespace {

class ArenaTest : public ::testing::Test {
 protected:
  ArenaTest() {
    void* base = mmap(nullptr, kTotalBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mapping_.base = static_cast<unsigned char*>(base);
    arena_start(mapping_);
  }
  ~ArenaTest() override { munmap(mapping_.base, kTotalBytes); }

  uint32_t append(const std::string& text) {
    return arena_append(mapping_, text.data(), text.size(), 5);
  }
  std::string text(uint32_t id) const {
    const ArenaText found = arena_text(mapping_, id);
    return std::string(found.text, found.length);
  }
  LossCounter& loss(SharedLoss which) {
    return mapping_.header()->losses[static_cast<uint32_t>(which)];
  }

  Mapping mapping_;
};

TEST_F(ArenaTest, GivesBackWhatWasAppended) {
  const std::vector<std::string> texts = {"a", "1234567", "12345678", "123456789",
                                          std::string(kMaxTextBytes, 'x')};
  std::vector<uint32_t> ids;
  for (const std::string& one : texts) ids.push_back(append(one));
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_NE(ids[i], 0u);
    EXPECT_EQ(text(ids[i]), texts[i]);
  }
  EXPECT_EQ(append(""), 0u);
  EXPECT_EQ(text(0), "");
}

TEST_F(ArenaTest, LongTextsAreCutAndCounted) {
  const uint32_t id = append(std::string(kMaxTextBytes + 1, 'y'));
  EXPECT_EQ(text(id), std::string(kMaxTextBytes, 'y'));
  EXPECT_EQ(loss(SharedLoss::kTextCut).count.load(), 1u);
  EXPECT_EQ(loss(SharedLoss::kTextCut).first_ticks.load(), 5u);
}

TEST_F(ArenaTest, FullArenaGivesNoIdAndCounts) {
  mapping_.header()->arena_used.store(kArenaBytes - 24);
  EXPECT_EQ(append(std::string(17, 'z')), 0u);
  EXPECT_NE(append("fits"), 0u) << "a shorter one still has room";
  EXPECT_EQ(append("no more"), append("no more"));
  EXPECT_GE(loss(SharedLoss::kArenaFull).count.load(), 2u);
}

TEST_F(ArenaTest, WrongIdsAndEntriesAreRefused) {
  const uint32_t id = append("text");
  EXPECT_EQ(arena_text(mapping_, 0xffffffff).length, 0u);
  EXPECT_EQ(arena_text(mapping_, static_cast<uint32_t>(kArenaBytes / kArenaUnit)).length, 0u);
  ArenaEntry entry{kMaxTextBytes + 1, 0};
  memcpy(mapping_.arena() + uint64_t{id} * kArenaUnit, &entry, sizeof entry);
  EXPECT_EQ(arena_text(mapping_, id).length, 0u);
  // An entry at the very end whose length reaches past the arena.
  const auto last = static_cast<uint32_t>(kArenaBytes / kArenaUnit - 1);
  entry.length = 100;
  memcpy(mapping_.arena() + uint64_t{last} * kArenaUnit, &entry, sizeof entry);
  EXPECT_EQ(arena_text(mapping_, last).length, 0u);
}

TEST_F(ArenaTest, ThreadsShareItWithoutALock) {
  constexpr int kThreads = 4;
  constexpr int kTexts = 2000;
  std::vector<std::vector<uint32_t>> ids(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this, thread, &ids] {
      for (int i = 0; i < kTexts; ++i) {
        ids[static_cast<size_t>(thread)].push_back(
            append("thread " + std::to_string(thread) + " text " + std::to_string(i)));
      }
    });
  }
  for (std::thread& one : threads) one.join();
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int i = 0; i < kTexts; ++i) {
      EXPECT_EQ(text(ids[static_cast<size_t>(thread)][static_cast<size_t>(i)]),
                "thread " + std::to_string(thread) + " text " + std::to_string(i));
    }
  }
}

}  // namespace
}  // namespace dprof::wire
