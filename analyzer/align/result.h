// SPDX-License-Identifier: Apache-2.0
// Offsets of host and GPU clocks, with their bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/align/clock_map.h"
#include "analyzer/vocabulary/diagnostic.h"
#include "base/fields.h"

namespace dprof::analyzer {

// The lead of one host's clock over the reference's, with a bound.
struct HostClock {
  std::string host;
  int64_t offset_ns = 0;  // at `at_ns`
  int64_t at_ns = 0;      // the middle of the host's recording, on the run's axis
  int64_t drift_ppb = 0;
  std::optional<int64_t> bound_ns;   // largest over the recording; nullopt = no bound known
  std::optional<int64_t> likely_ns;  // spread of the best probes: the expected error
  std::string method;  // same clock, probes, collectives, probes and collectives, none
  int64_t probes = 0;  // answered probes it is computed from
  int64_t resets = 0;  // observed steps of the clock; the fit is split there
  DPROF_FIELDS(host, offset_ns, at_ns, drift_ppb, bound_ns, likely_ns, method, probes, resets);
};

// The accuracy with which a GPU's clock is tied to its host's.
struct DeviceClock {
  int rank = 0;
  int64_t device = 0;
  int64_t kernels = 0;                 // kernels with a known launch
  int64_t before_launch = 0;           // of these, begun before their launch call
  std::optional<int64_t> residual_ns;  // of the fit of host against device times
  bool reliable = true;
  DPROF_FIELDS(rank, device, kernels, before_launch, residual_ns, reliable);
};

struct Clock {
  std::string reference;
  std::vector<HostClock> hosts;
  std::vector<DeviceClock> devices;
  int64_t violations = 0;  // synchronising collectives that ended before all had begun
  int64_t checked = 0;     // collectives checked for this
  DPROF_FIELDS(reference, hosts, devices, violations, checked);
};

// By digest.
struct Alignment : RankClocks {
  Clock clock;          // for the report
  bool aligned = true;  // every digest has a bound: times can be compared across ranks
  std::vector<Diagnostic> diagnostics;
};

}  // namespace dprof::analyzer
