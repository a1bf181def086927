// SPDX-License-Identifier: Apache-2.0
#include "base/shared_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(FreeMemoryTest, LeavesNothing) {
  std::vector<int> list(1000);
  list = {};
  EXPECT_GE(list.capacity(), 1000U) << "why free_memory() is there";
  free_memory(list);
  EXPECT_EQ(list.capacity(), 0U);
}

}  // namespace
}  // namespace dprof
