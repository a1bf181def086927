// SPDX-License-Identifier: Apache-2.0
// Times in which the training thread was ready to run but had no core, as far as samples show.
#pragma once

#include <span>
#include <vector>

#include "analyzer/breakdown/lattice.h"

namespace dprof::analyzer {

// Between two samples it is known for how long the thread stood in a run queue, not when. That time
// is dealt out evenly to the pieces in which the host would have run: of category host without a
// known cause (detail kPreempted) and, where `computes`, of computation on the host (kRunnable).
// Only the details change, no category. What is less than 1 % of such time is left alone.
// O(pieces + samples).
std::vector<LatticePiece> with_run_queue(std::vector<LatticePiece> pieces,
                                         std::span<const RunQueueSample> samples, bool computes);

}  // namespace dprof::analyzer
