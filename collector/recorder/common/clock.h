// SPDX-License-Identifier: Apache-2.0
// The recorder's clock: the tick counter used for the records' timestamps, and its fixed conversion
// to nanoseconds since the recorder's start. All times of the recorder come from here, so that a
// fake clock applies everywhere.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "collector/wire/layout.h"

namespace dprof::recorder {

[[nodiscard]] int64_t thread_cpu_ns();  // used by the calling thread

// A test switch: two recorders on one machine with different fake clocks behave as two hosts. Their
// CLOCK_MONOTONIC_RAW reads raw + offset + raw * drift, CLOCK_REALTIME is as far from it as the
// real one. It depends only on the machine's clock, so recorders with equal fakes share a clock;
// the drift therefore counts from the machine's start.
struct FakeClock {
  int64_t offset_ns = 0;
  int64_t drift_ppb = 0;

  // The fake CLOCK_MONOTONIC_RAW when the real one reads `raw_ns`. Exact, rounded down.
  [[nodiscard]] int64_t apply(int64_t raw_ns) const;
  friend bool operator==(const FakeClock&, const FakeClock&) = default;
};

// One moment on three clocks.
struct ClockReading {
  uint64_t ticks = 0;
  int64_t realtime_ns = 0;
  int64_t monotonic_raw_ns = 0;
  int64_t width_ns = 0;  // largest possible distance between the three readings
};

// Invariant  the scale never changes after start: drift against other clocks is left to the
//            analysis, which has a ClockReading of each second.
// Threading  immutable; share by const reference.
// Cost       now_ticks() 10 ns with the TSC, 22 ns without; read() some microseconds.
class RunClock {
 public:
  // Chooses the tick source and measures its rate; takes about 50 ms. Time 0 is now.
  static RunClock start(const FakeClock& fake = {});

  // A clock with a given scale, for tests.
  explicit RunClock(const wire::TickScale& scale, const FakeClock& fake = {},
                    int64_t origin_monotonic_raw_ns = 0);

  // Adopts the rate measured by another recorder of this host, so that their traces do not drift
  // apart by the error of two measurements (1 ppm). False: it is of another tick source, or
  // implausible: not within 100 ppm of the rate measured here.
  bool take_rate_of(const wire::TickScale& other);

  [[nodiscard]] uint64_t now_ticks() const;
  [[nodiscard]] ClockReading read() const;
  [[nodiscard]] HostNs to_host(uint64_t ticks) const {
    const int64_t real_ns = wire::ticks_to_ns(scale_, ticks);
    return {fake_.drift_ppb == 0 ? real_ns : drifted(real_ns)};
  }
  [[nodiscard]] HostNs now() const { return to_host(now_ticks()); }

  [[nodiscard]] const wire::TickScale& scale() const { return scale_; }
  [[nodiscard]] const ClockReading& origin() const { return origin_; }
  [[nodiscard]] const FakeClock& fake() const { return fake_; }
  // Recorders with equal ids share one clock: boot id, time namespace, fake clock.
  [[nodiscard]] std::string id() const;
  [[nodiscard]] double ticks_per_second() const;

 private:
  [[nodiscard]] int64_t drifted(int64_t real_ns) const;
  [[nodiscard]] ClockReading shown(ClockReading real) const;

  wire::TickScale scale_;
  FakeClock fake_;
  ClockReading origin_;
  int64_t real_origin_raw_ns_ = 0;
};

// True if the TSC is the same on all cores, at a constant rate: it has constant_tsc and nonstop_tsc
// and the kernel trusts it as its own clock source. `cpuinfo` and `clocksource` are the contents of
// those files.
[[nodiscard]] bool tsc_is_usable(const std::string& cpuinfo, const std::string& clocksource);

// The value of DPROF_CLOCK.
[[nodiscard]] std::string clock_variable(const wire::TickScale& scale);

// The kernel's boot id, "" if it cannot be read.
[[nodiscard]] std::string boot_id();
// The name of the first processor in /proc/cpuinfo; "" = none.
[[nodiscard]] std::string cpu_model();

}  // namespace dprof::recorder
