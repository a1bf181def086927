// SPDX-License-Identifier: Apache-2.0
// The recorders' clock measurements: probes from each host to the first, and samples of each host's
// own clocks.
#pragma once

#include <string>
#include <vector>

#include "schema/generated/rows.h"
#include "synth/clocks/host_clock.h"
#include "synth/spec.h"

namespace dprof::synth {

// Bursts from the recorder's start to `end_ns` (true time). Each probe follows the answer to the
// previous one; a probe not answered within 50 ms is given up and has no row.
[[nodiscard]] std::vector<schema::ClockProbeRow> probe_rows(const ProbeSpec& spec, uint64_t key,
                                                            const HostClock& own,
                                                            const HostClock& peer,
                                                            const std::string& peer_clock_id,
                                                            int64_t end_ns);

// One each second, and one at the end.
[[nodiscard]] std::vector<schema::ClockSampleRow> sample_rows(const HostClock& clock, uint64_t key,
                                                              int64_t end_ns);

}  // namespace dprof::synth
