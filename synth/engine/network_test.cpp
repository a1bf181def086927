// SPDX-License-Identifier: Apache-2.0
#include "synth/engine/network.h"

#include <gtest/gtest.h>

namespace dprof::synth {
namespace {

TEST(Network, ATransferAloneTakesItsTime) {
  Network network(2);
  const size_t a = network.begin({0}, 1000, 50);
  EXPECT_EQ(network.forecast(a), 1050);
}

TEST(Network, TransfersOfOneLinkShareItFairly) {
  Network network(2);
  const size_t a = network.begin({0}, 1000, 0);
  const uint32_t before = network.version(a);
  const size_t b = network.begin({0}, 1000, 500);  // a has 500 left, at half speed
  EXPECT_NE(network.version(a), before);
  EXPECT_EQ(network.forecast(a), 1500);
  EXPECT_EQ(network.forecast(b), 2500);
  network.end(a, 1500);  // b has done 500 and has the link to itself
  EXPECT_EQ(network.forecast(b), 2000);
}

TEST(Network, OtherLinksDoNotMatter) {
  Network network(3);
  const size_t a = network.begin({0}, 1000, 0);
  network.begin({1, 2}, 1000, 100);
  EXPECT_EQ(network.forecast(a), 1000);
}

TEST(Network, TheSlowestLinkGivesThePace) {
  Network network(2);
  network.begin({1}, 10'000, 0);
  network.begin({1}, 10'000, 0);
  const size_t wide = network.begin({0, 1}, 300, 0);
  EXPECT_EQ(network.forecast(wide), 900);
}

}  // namespace
}  // namespace dprof::synth
