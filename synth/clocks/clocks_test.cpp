// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "synth/clocks/host_clock.h"
#include "synth/clocks/probes.h"

namespace dprof::synth {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(HostClock, DriftsByPartsPerMillion) {
  const HostClock clock({.offset_ms = 3000, .ppm = 20}, 777, 0);
  const HostClock right({}, 0, 0);
  EXPECT_EQ(clock.realtime(0) - right.realtime(0), 3 * kSecond);
  EXPECT_EQ(clock.realtime(100 * kSecond) - right.realtime(100 * kSecond), 3 * kSecond + 2'000'000);
  EXPECT_EQ(clock.trace(100 * kSecond), 100 * kSecond + 2'000'000);
}

TEST(HostClock, WandersBackToWhereItWas) {
  const HostClock clock({.wander_ppm = 0.3, .wander_period_s = 10}, 0, 0);
  EXPECT_NEAR(static_cast<double>(clock.trace(10 * kSecond)), 1e10, 2);
  EXPECT_GT(clock.trace(5 * kSecond), 5 * kSecond + 500);
}

TEST(HostClock, DistinguishesWhatJumps) {
  const ClockSpec base{.at_s = 5};
  const auto gained = [](const ClockSpec& spec) {
    const HostClock clock(spec, 0, 0);
    const int64_t before = 4 * kSecond;
    const int64_t after = 6 * kSecond;
    return std::pair(clock.realtime(after) - clock.realtime(before) - 2 * kSecond,
                     clock.trace(after) - clock.trace(before) - 2 * kSecond);
  };
  ClockSpec step = base;
  step.step_ms = 2;
  ClockSpec jump = base;
  jump.jump_ms = 2;
  ClockSpec set = base;
  set.set_ms = 2;
  EXPECT_EQ(gained(step), std::pair(int64_t{0}, int64_t{2'000'000}));
  EXPECT_EQ(gained(jump), std::pair(int64_t{2'000'000}, int64_t{2'000'000}));
  EXPECT_EQ(gained(set), std::pair(int64_t{2'000'000}, int64_t{0}));
}

// A round trip is never shorter than light allows, and the rows contain the clocks' difference.
TEST(Probes, AreWhatTheRecorderWrites) {
  const HostClock reference({}, 1'000'000, 0);
  const HostClock own({.offset_ms = 50, .ppm = 10}, 9'000'000, 250'000'000);
  const ProbeSpec spec;
  const auto rows = probe_rows(spec, 5, own, reference, "peer", 3 * kSecond);
  ASSERT_EQ(rows.size(), 3U * 8U);
  int64_t last = -1;
  for (const schema::ClockProbeRow& row : rows) {
    EXPECT_EQ(row.peer, "peer");
    EXPECT_GT(row.send_ns, last);
    last = row.receive_ns;
    const int64_t round_trip =
        row.receive_ns - row.send_ns - (row.peer_reply_ns - row.peer_receive_ns);
    EXPECT_GE(round_trip, 30'000);
    // On its own axis, the probe was received between its sending and the arrival of the answer.
    const int64_t raw_difference = own.monotonic_raw(0) - reference.monotonic_raw(0);
    const int64_t received = row.peer_receive_ns + raw_difference - own.origin_raw();
    EXPECT_NEAR(static_cast<double>(received - row.send_ns), 15'000, 60'000);
  }
}

TEST(Probes, CanBeLostOrOff) {
  const HostClock clock({}, 0, 0);
  ProbeSpec lossy;
  lossy.lost_share = 1;
  EXPECT_TRUE(probe_rows(lossy, 5, clock, clock, "p", kSecond).empty());
  ProbeSpec off;
  off.enabled = false;
  EXPECT_TRUE(probe_rows(off, 5, clock, clock, "p", kSecond).empty());
}

TEST(Samples, ReachToTheEnd) {
  const HostClock clock({.set_ms = 0}, 0, 0);
  const auto rows = sample_rows(clock, 1, 3 * kSecond + 5);
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows.back().monotonic_raw_ns, 3 * kSecond + 5);
}

}  // namespace
}  // namespace dprof::synth
