// SPDX-License-Identifier: Apache-2.0
// The partition of the time of a rank with GPUs (docs/analysis/breakdown.md).
#pragma once

#include <vector>

#include "analyzer/breakdown/lattice.h"
#include "analyzer/waits/waits.h"

namespace dprof::analyzer {

// Covers the rank's whole span. With several devices, at each moment the busiest one counts: one
// that computes, then one that communicates, then one that copies, then the first idle cause in the
// order of the report. Exposed communication is split at the arrival of the last peer of the
// collective that ends last; without a known collective it is transfer. O(pieces log collectives).
Lattice gpu_lattice_of(const RankDigest& digest, const std::vector<CommSpan>& comm);

}  // namespace dprof::analyzer
