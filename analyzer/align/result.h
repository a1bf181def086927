// SPDX-License-Identifier: Apache-2.0
// Offsets of the clocks of hosts and GPUs, and how well they are known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/align/clock_map.h"
#include "analyzer/vocabulary/diagnostic.h"
#include "base/fields.h"

namespace dprof::analyzer {

// How far one host's clock was ahead of the reference's, and how well that is known.
struct HostClock {
  std::string host;
  int64_t offset_ns = 0;  // at `at_ns`
  int64_t at_ns = 0;      // the middle of the host's recording, on the run's axis
  int64_t drift_ppb = 0;
  std::optional<int64_t> bound_ns;   // largest over the recording; nullopt = no bound can be given
  std::optional<int64_t> likely_ns;  // spread of the best probes: the error that is to be expected
  std::string method;  // same clock, probes, collectives, probes and collectives, none
  int64_t probes = 0;  // answered probes that it was computed from
  int64_t resets = 0;  // steps of the clock that were seen; the fit is split there
  DPROF_FIELDS(host, offset_ns, at_ns, drift_ppb, bound_ns, likely_ns, method, probes, resets);
};

// How well the clock of a GPU is tied to its host's.
struct DeviceClock {
  int rank = 0;
  int64_t device = 0;
  int64_t kernels = 0;                 // with a known launch
  int64_t before_launch = 0;           // of these, begun before their launch was called
  std::optional<int64_t> residual_ns;  // of the fit of host against device times
  bool reliable = true;
  DPROF_FIELDS(rank, device, kernels, before_launch, residual_ns, reliable);
};

struct Clock {
  std::string reference;
  std::vector<HostClock> hosts;
  std::vector<DeviceClock> devices;
  int64_t violations = 0;  // synchronising collectives that ended somewhere before all had begun
  int64_t checked = 0;     // collectives that this was looked at for
  DPROF_FIELDS(reference, hosts, devices, violations, checked);
};

// By digest.
struct Alignment : RankClocks {
  Clock clock;          // for the report
  bool aligned = true;  // every digest has a bound: times can be compared across ranks
  std::vector<Diagnostic> diagnostics;
};

}  // namespace dprof::analyzer
