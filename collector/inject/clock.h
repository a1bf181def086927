// SPDX-License-Identifier: Apache-2.0
// The clock of the records: raw ticks in the process, nanoseconds only in the recorder. The TSC
// where the recorder has found it usable and says so in DPROF_CLOCK, else CLOCK_MONOTONIC in ns.
//
// Cost  about 10 ns (TSC), 22 ns (CLOCK_MONOTONIC).
#pragma once

#include <ctime>

#include "collector/wire/layout.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace dprof::inject {

[[nodiscard]] inline uint64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

[[nodiscard]] inline uint64_t read_ticks(wire::ClockSource source) noexcept {
  if (source == wire::ClockSource::kTsc) {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
  }
  return monotonic_ns();
}

// The scale that the recorder has put into the environment ("source tick0 multiplier shift"), or
// one that makes ticks of CLOCK_MONOTONIC's nanoseconds when `text` is null or makes no sense.
[[nodiscard]] wire::TickScale tick_scale_of(const char* text) noexcept;

}  // namespace dprof::inject
