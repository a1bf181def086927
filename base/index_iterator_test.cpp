// SPDX-License-Identifier: Apache-2.0
#include "base/index_iterator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace dprof {
namespace {

struct Numbers {
  using value_type = std::string;
  [[nodiscard]] std::string operator[](size_t at) const { return std::to_string(at + 10); }
  [[nodiscard]] IndexIterator<Numbers> begin() const { return {*this, 0}; }
  [[nodiscard]] IndexIterator<Numbers> end() const { return {*this, 5}; }
};
static_assert(std::ranges::random_access_range<Numbers>);

TEST(IndexIteratorTest, ReadsLikeAList) {
  const Numbers numbers;
  std::string all;
  for (const std::string& number : numbers) all += number + " ";
  EXPECT_EQ(all, "10 11 12 13 14 ");
  EXPECT_EQ(std::ranges::lower_bound(numbers, "13") - numbers.begin(), 3);
  EXPECT_EQ(*std::prev(numbers.end()), "14");
  EXPECT_EQ(*std::make_reverse_iterator(numbers.end()), "14");
  EXPECT_EQ(numbers.begin()->size(), 2U);
}

}  // namespace
}  // namespace dprof
