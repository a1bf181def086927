// SPDX-License-Identifier: Apache-2.0
// The report of a whole run, seen from one rank.
#pragma once

#include "analyzer/report/report.h"

namespace dprof::analyzer {

// Keeps of every list by rank what is that rank's, and of stragglers, findings and messages what
// concerns it. What stands for the run as a whole (steps, clock, collectives, hang) stays. All
// ranks have been analysed: the rank is still compared with the others.
[[nodiscard]] Report seen_from(const Report& report, int rank);

}  // namespace dprof::analyzer
