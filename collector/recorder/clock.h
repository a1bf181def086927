// SPDX-License-Identifier: Apache-2.0
// The recorder's clock: the tick counter that recorded processes stamp their records with, and its
// fixed conversion to nanoseconds since the recorder's start.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "collector/wire/layout.h"

namespace dprof::recorder {

// One moment on three clocks.
struct ClockReading {
  uint64_t ticks = 0;
  int64_t realtime_ns = 0;
  int64_t monotonic_raw_ns = 0;
  int64_t width_ns = 0;  // how far apart the three readings can be
};

// Invariant  the scale never changes after start: drift against other clocks is left to the
//            analysis, which has a ClockReading of each second.
// Threading  immutable; share by const reference.
// Cost       now_ticks() 10 ns with the TSC, 22 ns without; read() some microseconds.
class RunClock {
 public:
  // Chooses the tick source and measures its rate; takes about 50 ms. Time 0 is now.
  static RunClock start();

  // A clock of a given scale, for tests.
  explicit RunClock(const wire::TickScale& scale);

  [[nodiscard]] uint64_t now_ticks() const;
  [[nodiscard]] ClockReading read() const;
  [[nodiscard]] HostNs to_host(uint64_t ticks) const { return {wire::ticks_to_ns(scale_, ticks)}; }
  [[nodiscard]] HostNs now() const { return to_host(now_ticks()); }

  [[nodiscard]] const wire::TickScale& scale() const { return scale_; }
  [[nodiscard]] const ClockReading& origin() const { return origin_; }
  [[nodiscard]] double ticks_per_second() const;

 private:
  wire::TickScale scale_;
  ClockReading origin_;
};

// Whether the TSC is the same on all cores, at a constant rate: it has constant_tsc and nonstop_tsc
// and the kernel trusts it as its own clock source. `cpuinfo` and `clocksource` are the contents of
// those files.
[[nodiscard]] bool tsc_is_usable(const std::string& cpuinfo, const std::string& clocksource);

// The value of DPROF_CLOCK.
[[nodiscard]] std::string clock_variable(const wire::TickScale& scale);

// The kernel's boot id, "" where it cannot be read, and the identity of this host's clock: boot id
// and time namespace. Recorders with equal ids share one clock.
[[nodiscard]] std::string boot_id();
[[nodiscard]] std::string clock_id();

}  // namespace dprof::recorder
