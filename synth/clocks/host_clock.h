// SPDX-License-Identifier: Apache-2.0
// The clocks of one host relative to true time: offset, drift, wander and jumps.
#pragma once

#include <cstdint>

#include "synth/spec.h"

namespace dprof::synth {

// Units      true time is ns since the job's begin; everything int64 ns.
// Threading  immutable.
// Cost       O(1); to_true() a few iterations.
class HostClock {
 public:
  HostClock(const ClockSpec& spec, int64_t raw_base_ns, int64_t recorder_start_ns);

  [[nodiscard]] int64_t realtime(int64_t true_ns) const;
  [[nodiscard]] int64_t monotonic_raw(int64_t true_ns) const;
  // In this host's traces: MONOTONIC_RAW minus its value at the recorder's start.
  [[nodiscard]] int64_t trace(int64_t true_ns) const;
  [[nodiscard]] int64_t recorder_start() const { return start_; }
  [[nodiscard]] int64_t origin_realtime() const { return realtime(start_); }
  [[nodiscard]] int64_t origin_raw() const { return monotonic_raw(start_); }

 private:
  [[nodiscard]] double drifted(int64_t true_ns) const;  // gained since 0, in ns

  ClockSpec spec_;
  int64_t base_;
  int64_t start_;
};

}  // namespace dprof::synth
