// SPDX-License-Identifier: Apache-2.0
// The report of a whole run, seen from one rank.
#pragma once

#include "analyzer/report/report.h"

namespace dprof::analyzer {

// Keeps that rank's entries of every per-rank list, and the stragglers, findings and messages that
// concern it. Run-wide parts (steps, clock, collectives, hang) stay. All ranks have been analysed,
// so the rank is still compared with the others.
[[nodiscard]] Report seen_from(const Report& report, int rank);

}  // namespace dprof::analyzer
