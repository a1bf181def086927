// SPDX-License-Identifier: Apache-2.0
// The partition of a rank's time where it has GPUs (docs/analysis/breakdown.md).
#pragma once

#include <vector>

#include "analyzer/breakdown/lattice.h"
#include "analyzer/waits/waits.h"

namespace dprof::analyzer {

// Over all of the rank's span. Of several devices, at each moment the one counts that does the
// most: computes, then communicates, then copies, then has the least idle cause in the order of the
// report. Exposed communication is split where the last peer arrives, of the collective that ends
// last; where no collective is known it is transfer. O(pieces log collectives).
std::vector<LatticePiece> gpu_lattice_of(const RankDigest& digest,
                                         const std::vector<CommSpan>& comm);

}  // namespace dprof::analyzer
