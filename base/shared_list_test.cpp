// SPDX-License-Identifier: Apache-2.0
#include "base/shared_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cereal/archives/binary.hpp>
#include <cereal/types/vector.hpp>
#include <cstdint>
#include <sstream>

#include "base/free_memory.h"

namespace dprof {
namespace {

using ::testing::ElementsAre;

TEST(SharedListTest, EqualListsShareTheirMemory) {
  SharedList<int> a = {0, 1, 2};
  SharedList<int> b = std::vector{0, 1, 2};
  SharedList<int> other = {0, 1};
  EXPECT_FALSE(a.is_of(b));
  EXPECT_EQ(a, b);
  ListPool<int> pool;
  for (SharedList<int>* list : {&a, &b, &other}) pool.share(*list);
  EXPECT_TRUE(a.is_of(b));
  EXPECT_FALSE(a.is_of(other));
  EXPECT_THAT(b, ElementsAre(0, 1, 2));
  EXPECT_THAT(other, ElementsAre(0, 1));
}

TEST(SharedListTest, AnEmptyOneIsLikeAnEmptyVector) {
  const SharedList<int> none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none, SharedList<int>(std::vector<int>()));
  EXPECT_EQ(none.begin(), none.end());
}

std::string bytes_of(const SharedList<int>& list) {
  std::ostringstream stream;
  cereal::BinaryOutputArchive archive(stream);
  archive(list);
  return stream.str();
}

TEST(SharedListTest, AnyListIsReadAsItWasWritten) {
  for (const std::vector<int>& values : {std::vector<int>(),
                                         {7},
                                         {3, 3},
                                         {3, 3, 4, 8, 9, 9, 9},
                                         {5, 3, 1, -1, 0},
                                         {0, INT32_MAX},
                                         {INT32_MIN, INT32_MAX, INT32_MIN, 0}}) {
    std::istringstream stream(bytes_of(values));
    cereal::BinaryInputArchive archive(stream);
    SharedList<int> read = {1, 2};
    archive(read);
    EXPECT_EQ(read.list(), values);
  }
}

TEST(SharedListTest, AListOfAllRanksIsSmall) {
  std::vector<int> all(10'000);
  for (int i = 0; i < 10'000; ++i) all[static_cast<size_t>(i)] = i;
  EXPECT_LT(bytes_of(all).size(), 64U);
}

TEST(FreeMemoryTest, LeavesNothing) {
  std::vector<int> list(1000);
  list = {};
  EXPECT_GE(list.capacity(), 1000U) << "why free_memory() is there";
  free_memory(list);
  EXPECT_EQ(list.capacity(), 0U);
}

}  // namespace
}  // namespace dprof
