// SPDX-License-Identifier: Apache-2.0
// Time in which the training thread was ready to run but had no core, as far as samples show it.
#pragma once

#include <span>

#include "analyzer/breakdown/lattice.h"

namespace dprof::analyzer {

// Two samples show how long the thread was in a run queue between them, not when. That time is
// distributed evenly over the pieces in which the host would have run: those of category host
// without a known cause (detail kPreempted) and, with `computes`, computation on the host
// (kRunnable). Only details change, not categories. A share below 1 % is ignored. O(pieces +
// samples).
Lattice with_run_queue(Lattice pieces, std::span<const RunQueueSample> samples, bool computes);

}  // namespace dprof::analyzer
