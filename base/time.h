// SPDX-License-Identifier: Apache-2.0
// Times on different clocks have different types, so they cannot be mixed by accident. All are
// int64 nanoseconds.
#pragma once

#include <compare>
#include <cstdint>

namespace dprof {

// A length of time; may be negative.
struct DurationNs {
  int64_t ns = 0;

  friend constexpr auto operator<=>(DurationNs, DurationNs) = default;
  constexpr DurationNs& operator+=(DurationNs other) { return ns += other.ns, *this; }
  constexpr DurationNs& operator-=(DurationNs other) { return ns -= other.ns, *this; }
  friend constexpr DurationNs operator+(DurationNs a, DurationNs b) { return {a.ns + b.ns}; }
  friend constexpr DurationNs operator-(DurationNs a, DurationNs b) { return {a.ns - b.ns}; }
  friend constexpr DurationNs operator-(DurationNs a) { return {-a.ns}; }
};

// A moment on the clock that `Tag` names.
template <typename Tag>
struct Moment {
  int64_t ns = 0;

  friend constexpr auto operator<=>(Moment, Moment) = default;
  constexpr Moment& operator+=(DurationNs d) { return ns += d.ns, *this; }
  friend constexpr DurationNs operator-(Moment a, Moment b) { return {a.ns - b.ns}; }
  friend constexpr Moment operator+(Moment a, DurationNs b) { return {a.ns + b.ns}; }
  friend constexpr Moment operator-(Moment a, DurationNs b) { return {a.ns - b.ns}; }
};

using HostNs =
    Moment<struct HostClock>;  // nanoseconds since the run's origin on the recording host's clock
using TraceNs = Moment<struct RunAxis>;       // on the run's common time axis, after alignment
using DeviceNs = Moment<struct DeviceClock>;  // a GPU's own clock

inline constexpr int64_t kNsPerSecond = 1'000'000'000;
inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerUs = 1'000;

}  // namespace dprof
