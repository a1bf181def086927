// SPDX-License-Identifier: Apache-2.0
// Evidence about a trace's clock: probes with other hosts, samples of the host's own clocks, and
// pairs of readings of a device's clock and the host's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {

// Times of this host are on the run's axis before alignment (trace time + shift); the peer's are on
// its CLOCK_MONOTONIC_RAW, minus the origin of a trace of the peer: see clock_probe.
struct ClockProbe {
  int32_t peer = 0;  // index into ClockEvidence::peers
  TraceNs send;
  int64_t peer_receive_raw_ns = 0;
  int64_t peer_reply_raw_ns = 0;
  TraceNs receive;
};

struct ClockSample {
  TraceNs at;  // by MONOTONIC_RAW, on the run's axis
  int64_t realtime_ns = 0;
  int64_t width_ns = 0;
};

struct DevicePair {
  int64_t device = 0;
  TraceNs at;
  int64_t device_ns = 0;
  int64_t width_ns = 0;
};

struct ClockEvidence {
  std::vector<std::string> peers;  // clock ids
  std::vector<ClockProbe> probes;  // in order of time
  std::vector<ClockSample> samples;
  std::vector<DevicePair> devices;
  int64_t damaged = 0;  // rows with impossible times; left out
  // The greatest distance of the readings of the clocks at time 0: the possible disagreement
  // between recorders that share a clock. And the rate by which this recorder converts ticks.
  int64_t origin_width_ns = 0;
  std::optional<double> ticks_per_second;
  // Subtract from a peer's raw times to put them on this trace's axis, if this trace's clock is the
  // peer. nullopt = not in the trace.
  std::optional<int64_t> origin_raw_ns;
};

// O(rows of clock_sample and clock_probe).
Result<ClockEvidence> read_clock_evidence(const schema::TraceReader& reader, int64_t shift_ns);

}  // namespace dprof::analyzer
