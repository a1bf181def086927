// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/interface_load.h"

#include <gtest/gtest.h>

#include <array>

namespace dprof::analyzer {
namespace {

Interval between(int64_t begin, int64_t end) { return {{begin}, {end}}; }

TEST(InterfaceLoadTest, NothingBesideIt) {
  InterfaceLoad load(2);
  load.add(std::array{0, 1}, between(100, 200));
  load.finish();
  EXPECT_EQ(load.alone_ns(std::array{0, 1}, between(100, 200)), 100);
}

TEST(InterfaceLoadTest, TwoShareFromWhenTheSecondComes) {
  InterfaceLoad load(3);
  load.add(std::array{0, 1}, between(0, 100));
  load.add(std::array{0, 2}, between(50, 150));
  load.finish();
  EXPECT_EQ(load.alone_ns(std::array{0, 1}, between(0, 100)), 75);
  EXPECT_EQ(load.alone_ns(std::array{0, 2}, between(50, 150)), 75);
}

// Of its two interfaces the busier one is decisive.
TEST(InterfaceLoadTest, TheBusiestInterfaceDecides) {
  InterfaceLoad load(4);
  load.add(std::array{0, 1}, between(0, 120));
  load.add(std::array{0, 2}, between(0, 120));
  load.add(std::array{1, 3}, between(0, 120));
  load.add(std::array{1, 2}, between(60, 120));
  load.finish();
  EXPECT_EQ(load.alone_ns(std::array{0, 1}, between(0, 120)), 30 + 20);
}

// One that begins when another ends shares nothing with it.
TEST(InterfaceLoadTest, OneAfterTheOther) {
  InterfaceLoad load(2);
  for (int64_t i = 0; i < 5; ++i) load.add(std::array{0, 1}, between(10 * i, 10 * i + 10));
  load.finish();
  EXPECT_EQ(load.alone_ns(std::array{0, 1}, between(20, 30)), 10);
}

}  // namespace
}  // namespace dprof::analyzer
