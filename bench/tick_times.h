// SPDX-License-Identifier: Apache-2.0
// Times of single calls, read from the tick counter.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "collector/wire/ticks.h"

namespace dprof::bench {

inline uint64_t ticks() { return wire::read_ticks(wire::ClockSource::kTsc); }

// Ticks per nanosecond, over 50 ms.
inline double measure_tick_rate() {
  using Clock = std::chrono::steady_clock;
  const auto from = Clock::now();
  const uint64_t first = ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const uint64_t last = ticks();
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - from).count();
  return static_cast<double>(last - first) / static_cast<double>(ns);
}

// In nanoseconds, from sorted times.
inline double percentile(const std::vector<uint32_t>& sorted, double share, double ticks_per_ns) {
  const auto at = static_cast<size_t>(share * static_cast<double>(sorted.size() - 1));
  return static_cast<double>(sorted[at]) / ticks_per_ns;
}

// The cost of reading the clock twice, sorted: every measured time includes it.
inline std::vector<uint32_t> time_clock(uint64_t count) {
  std::vector<uint32_t> times;
  times.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t from = ticks();
    times.push_back(static_cast<uint32_t>(ticks() - from));
  }
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace dprof::bench
