// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/cuda/cupti_buffers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace dprof::inject::cupti {
namespace {

constexpr uint32_t kQueued = kQueueCapBytes / kBufferBytes;

std::unique_ptr<BufferPool> a_pool() {
  auto pool = std::make_unique<BufferPool>();
  EXPECT_TRUE(pool->prepare());
  return pool;
}

TEST(CuptiBuffers, GivesEachBufferOnceThenNone) {
  const auto pool = a_pool();
  std::set<uint8_t*> given;
  for (uint32_t i = 0; i < kMaxBuffers; ++i) {
    uint8_t* buffer = pool->give();
    ASSERT_NE(buffer, nullptr);
    buffer[kBufferBytes - 1] = 1;
    EXPECT_TRUE(given.insert(buffer).second);
  }
  EXPECT_EQ(pool->give(), nullptr) << "CUPTI holds them all";
}

TEST(CuptiBuffers, WhatWasUsedComesBackZeroed) {
  const auto pool = a_pool();
  uint8_t* buffer = pool->give();
  memset(buffer, 0xff, kBufferBytes);
  pool->take(buffer, 100);
  const BufferPool::Finished finished = pool->next();
  EXPECT_EQ(finished.data, buffer);
  EXPECT_EQ(finished.valid_bytes, 100u);
  pool->recycle(buffer);
  uint8_t* again = pool->give();
  EXPECT_EQ(again, buffer);
  for (size_t i = 0; i < kBufferBytes; i += 511) ASSERT_EQ(again[i], 0);
}

TEST(CuptiBuffers, PastTheCapBuffersGoBackUnreadAndAreCounted) {
  const auto pool = a_pool();
  for (uint32_t i = 0; i < kQueued + 10; ++i) pool->take(pool->give(), 1000);
  EXPECT_EQ(pool->queued_bytes(), kQueueCapBytes);
  EXPECT_EQ(pool->take_unread_bytes(), 10'000u);
  EXPECT_EQ(pool->take_unread_bytes(), 0u);
  uint32_t read = 0;
  for (auto one = pool->next(); one.data != nullptr; one = pool->next(), ++read) {
    pool->recycle(one.data);
  }
  EXPECT_EQ(read, kQueued);
  EXPECT_EQ(pool->queued_bytes(), 0u);
  pool->tidy();
  std::set<uint8_t*> given;
  for (uint32_t i = 0; i < kMaxBuffers; ++i) given.insert(pool->give());
  EXPECT_EQ(given.size(), kMaxBuffers) << "none was lost";
}

TEST(CuptiBuffers, ABufferThatIsNotReadIsBetterThanNone) {
  const auto pool = a_pool();
  std::vector<uint8_t*> held;
  for (uint32_t i = 0; i < kMaxBuffers; ++i) held.push_back(pool->give());
  memset(held[0], 0xff, kBufferBytes);
  pool->take(held[0], 4096);
  uint8_t* buffer = pool->give();
  ASSERT_EQ(buffer, held[0]);
  EXPECT_EQ(buffer[0], 0);
  EXPECT_EQ(pool->take_unread_bytes(), 4096u);
}

TEST(CuptiBuffers, StrangeAddressesAreIgnored) {
  const auto pool = a_pool();
  uint8_t outside = 0;
  uint8_t* buffer = pool->give();
  pool->take(&outside, 1);
  pool->take(nullptr, 1);
  pool->take(buffer + 8, 1);
  EXPECT_EQ(pool->next().data, nullptr);
  pool->take(buffer, ~size_t{0});
  EXPECT_EQ(pool->next().valid_bytes, kBufferBytes);
}

TEST(CuptiBuffers, ThreadsNeverShareOne) {
  const auto pool = a_pool();
  std::atomic<int> working = 4;
  std::atomic<uint64_t> torn = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 300; ++round) {
        uint8_t* buffer = pool->give();
        if (buffer == nullptr) continue;
        if (buffer[0] != 0) ++torn;
        memset(buffer, thread + 1, 256);
        for (int i = 0; i < 256; ++i) torn += buffer[i] != thread + 1 ? 1 : 0;
        pool->take(buffer, 256);
      }
      --working;
    });
  }
  uint64_t bytes = 0;
  for (bool last = false;;) {
    const BufferPool::Finished one = pool->next();
    if (one.data == nullptr) {
      if (last) break;
      last = working == 0;
      continue;
    }
    bytes += one.valid_bytes;
    pool->recycle(one.data);
  }
  for (std::thread& thread : threads) thread.join();
  bytes += pool->take_unread_bytes();
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(bytes, 4u * 300 * 256);
}

}  // namespace
}  // namespace dprof::inject::cupti
