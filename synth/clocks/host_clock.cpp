// SPDX-License-Identifier: Apache-2.0
#include "synth/clocks/host_clock.h"

#include <cmath>

namespace dprof::synth {
namespace {

constexpr int64_t kBeginRealtimeNs = 1'700'000'000'000'000'000;  // true time 0
constexpr double kTwoPi = 6.283185307179586;

int64_t ns_of(double ms) { return std::llround(ms * 1e6); }

}  // namespace

HostClock::HostClock(const ClockSpec& spec, int64_t raw_base_ns, int64_t recorder_start_ns)
    : spec_(spec), base_(raw_base_ns), start_(recorder_start_ns) {}

// The integral of drift and of a sinusoidal wander that begins at its mean.
double HostClock::drifted(int64_t true_ns) const {
  const auto t = static_cast<double>(true_ns);
  const double period = spec_.wander_period_s * 1e9;
  const double wander =
      spec_.wander_ppm * 1e-6 * period / kTwoPi * (1 - std::cos(kTwoPi * t / period));
  return spec_.ppm * 1e-6 * t + wander;
}

int64_t HostClock::realtime(int64_t true_ns) const {
  const bool later = static_cast<double>(true_ns) >= spec_.at_s * 1e9;
  return kBeginRealtimeNs + true_ns + ns_of(spec_.offset_ms) + std::llround(drifted(true_ns)) +
         (later ? ns_of(spec_.jump_ms) + ns_of(spec_.set_ms) : 0);
}

int64_t HostClock::monotonic_raw(int64_t true_ns) const {
  const bool later = static_cast<double>(true_ns) >= spec_.at_s * 1e9;
  return base_ + true_ns + std::llround(drifted(true_ns)) +
         (later ? ns_of(spec_.jump_ms) + ns_of(spec_.step_ms) : 0);
}

int64_t HostClock::trace(int64_t true_ns) const { return monotonic_raw(true_ns) - origin_raw(); }

}  // namespace dprof::synth
