// SPDX-License-Identifier: Apache-2.0
#include "base/compact_optional.h"

#include <gtest/gtest.h>

#include <cereal/archives/binary.hpp>
#include <sstream>

namespace dprof {
namespace {

enum class Wide : int64_t { kNone = 0, kSome = 7 };

TEST(CompactOptionalTest, IsAsSmallAsItsValueAndReadsLikeAnOptional) {
  using Number = CompactOptional<int64_t>;
  static_assert(sizeof(Number) == 8);
  static_assert(sizeof(CompactOptional<int64_t, int32_t>) == 4);
  Number number;
  EXPECT_FALSE(number);
  EXPECT_EQ(number, std::nullopt);
  EXPECT_EQ(number.value_or(3), 3);
  number = 0;
  EXPECT_TRUE(number);
  EXPECT_EQ(number, 0);
  EXPECT_EQ(std::optional<int64_t>(number), std::optional<int64_t>(0));
  number = std::optional<int64_t>(-5);
  EXPECT_EQ(*number, -5);
  EXPECT_LT(Number(), number);
  number = std::optional<int64_t>();
  EXPECT_FALSE(number);
  EXPECT_EQ(std::optional<int64_t>(number), std::nullopt);
}

TEST(CompactOptionalTest, ComparesWithAnOptionalAsOneDoes) {
  const std::optional<int64_t> none;
  const std::optional<int64_t> two = 2;
  const CompactOptional<int64_t> no_value;
  const CompactOptional<int64_t> value = 2;
  EXPECT_TRUE(no_value == none);
  EXPECT_TRUE(none == no_value);
  EXPECT_FALSE(no_value != none);
  EXPECT_TRUE(value == two);
  EXPECT_TRUE(two == value);
  EXPECT_FALSE(none != no_value);
  EXPECT_TRUE(value != none);
  EXPECT_TRUE(none != value);
  EXPECT_FALSE(no_value > none);
  EXPECT_FALSE(none < no_value);
  EXPECT_TRUE(value > none);
  EXPECT_TRUE(none < value);
  EXPECT_FALSE(value > two);
  EXPECT_TRUE(value >= two);
  EXPECT_TRUE(no_value < two);
}

TEST(CompactOptionalTest, KeepsMoments) {
  CompactOptional<TraceNs> time;
  EXPECT_FALSE(time.has_value());
  time = TraceNs{12};
  EXPECT_EQ(time->ns, 12);
  EXPECT_EQ((*time - TraceNs{2}).ns, 10);
  time.reset();
  EXPECT_FALSE(time.has_value());
}

TEST(CompactOptionalTest, WhatDoesNotFitIsNone) {
  CompactOptional<int64_t, int32_t> small = int64_t{INT32_MAX};
  EXPECT_EQ(*small, INT32_MAX);
  small = int64_t{INT32_MAX} + 1;
  EXPECT_FALSE(small);
  small = int64_t{INT32_MIN};
  EXPECT_FALSE(small) << "the smallest one stands for none";
}

TEST(CompactOptionalTest, GoesThroughAnArchive) {
  std::stringstream stream;
  const SmallEnum<Wide> some = Wide::kSome;
  {
    cereal::BinaryOutputArchive archive(stream);
    archive(CompactOptional<int64_t, int32_t>(9), CompactOptional<int64_t>(), some);
  }
  CompactOptional<int64_t, int32_t> nine;
  CompactOptional<int64_t> none = 4;
  SmallEnum<Wide> read;
  cereal::BinaryInputArchive archive(stream);
  archive(nine, none, read);
  EXPECT_EQ(*nine, 9);
  EXPECT_FALSE(none);
  EXPECT_EQ(read, Wide::kSome);
}

TEST(SmallEnumTest, AValueThatNoEnumHasIsZero) {
  static_assert(sizeof(SmallEnum<Wide>) == 1);
  EXPECT_EQ(SmallEnum<Wide>(Wide::kSome), Wide::kSome);
  EXPECT_EQ(SmallEnum<Wide>(static_cast<Wide>(256 + 7)), Wide::kNone);
}

}  // namespace
}  // namespace dprof
