// SPDX-License-Identifier: Apache-2.0
// The training thread's phase at each moment, and whether a collective held it up. Both are partly
// inferred: without every operator recorded, a wait leaves no range.
#pragma once

#include <span>
#include <vector>

#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

// The innermost phase over a stretch of time.
struct PhasePiece {
  Interval span;
  schema::Marker marker = schema::Marker::kNone;
};

// The recorded phases and, where autograd nodes ran outside of any marked backward, a backward for
// each run of nodes. It reaches to the end of the collectives that it called, for there backward()
// waits. Where no forward is marked at all, one for each run of its signs between two of these.
std::vector<PhaseRange> with_inferred_phases(const RankDigest& digest);

// Sorted, disjoint; where phases nest, the one that began last.
std::vector<PhasePiece> innermost(std::vector<PhaseRange> phases);

// When the training thread waited for a collective:
//   - in backward from its last autograd node or call of a collective, until the last of them ended
//     (DDP's finalize waits there; before it a collective runs beside the backward), and from a
//     call between two nodes until its end, where the thread did nothing before and goes on then;
//   - in another phase, and inside an autograd node, from the call of a collective until its end;
//   - in ranges that say so.
// Operators recorded within show that it was not waiting then.
IntervalSet blocked_times(const RankDigest& digest, const std::vector<PhaseRange>& phases);

}  // namespace dprof::analyzer
