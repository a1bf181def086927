// SPDX-License-Identifier: Apache-2.0
// For tests: clocks with known truth, and probes of them through a network with queues, as in the
// experiments of docs/analysis/clocks.md.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

#include "analyzer/align/cloud.h"

namespace dprof::analyzer {

struct ClockShape {
  double offset_ns = 5e6;
  double drift = 12e-6;
  double wander = 0;  // amplitude of the drift's sine
  double wander_period_s = 300;
  double step_at_s = -1;  // the clock jumps there; negative: never
  double step_ns = 0;

  // Offset ahead of the reference, at a time of the reference.
  [[nodiscard]] double offset(double ref_ns) const {
    const double s = ref_ns / 1e9;
    const double omega = 2 * std::numbers::pi / wander_period_s;
    const double wandered = wander == 0 ? 0 : wander * 1e9 * (1 - std::cos(omega * s)) / omega;
    return offset_ns + drift * ref_ns + wandered + (step_at_s >= 0 && s >= step_at_s ? step_ns : 0);
  }
};

struct NetworkShape {
  double one_way_ns = 15e3;
  double asymmetry_ns = 0;  // extra delay on the way back
  double jitter_ns = 1e3;
  double clean = 0.5;  // share of packets that meet no queue
  double queue_ns = 5e3;
};

inline constexpr NetworkShape kIdle{};
inline constexpr NetworkShape kBusy{.clean = 0.1, .queue_ns = 200e3};
inline constexpr NetworkShape kVeryBusy{.clean = 0.01, .queue_ns = 500e3};

struct ProbeTimes {
  int64_t send = 0;  // by the probing clock
  int64_t peer_receive = 0;
  int64_t peer_reply = 0;
  int64_t receive = 0;
};

// Bursts of 8 each second, from a clock of `shape` towards the reference.
template <typename Visit>
void probe(const ClockShape& shape, const NetworkShape& network, double seconds, uint64_t seed,
           Visit&& visit) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto delay = [&](double more) {
    double d = network.one_way_ns + more + std::abs(normal(random)) * network.jitter_ns;
    if (uniform(random) >= network.clean) d += -std::log(1 - uniform(random)) * network.queue_ns;
    return d;
  };
  for (double second = 0; second < seconds; ++second) {
    double now = second * 1e9 + 1e6;
    for (int i = 0; i < 8; ++i) {
      const double there = now + delay(0);
      const double reply = there + 2e3;
      const double back = reply + delay(network.asymmetry_ns);
      visit(ProbeTimes{std::llround(now + shape.offset(now)), std::llround(there),
                       std::llround(reply), std::llround(back + shape.offset(back))});
      now = back + 1e4;
    }
  }
}

inline Cloud cloud_of(const ClockShape& shape, const NetworkShape& network, double seconds,
                      uint64_t seed) {
  Cloud cloud;
  probe(shape, network, seconds, seed, [&](const ProbeTimes& p) {
    cloud.at_least({p.send}, p.send - p.peer_receive);
    cloud.at_most({p.receive}, p.receive - p.peer_reply);
  });
  return cloud;
}

}  // namespace dprof::analyzer
