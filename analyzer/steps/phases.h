// SPDX-License-Identifier: Apache-2.0
// The training thread's phase at each moment, and whether a collective blocked it. Both are partly
// inferred: unless every operator is recorded, a wait leaves no range.
#pragma once

#include <span>
#include <vector>

#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

// Phases that begin between a moment and the one around it, or that ended last before it, at most.
inline constexpr size_t kDeepestPhase = 64;

// The innermost phase during an interval.
struct PhasePiece {
  Interval span;
  schema::Marker marker = schema::Marker::kNone;
};

// The recorded phases, plus a backward for each run of autograd nodes outside any marked backward.
// It extends to the end of the collectives that it called, for which backward() waits. If no
// forward is marked at all, also a forward for each run of its signs between two of these.
std::vector<PhaseRange> with_inferred_phases(const RankDigest& digest);

// The phase of a moment in no recorded one, by the same signs: backward after an autograd node (on
// whatever thread), forward between signs of one, until a phase or a step begins or ends; kNone =
// neither. O(log of phases and nodes).
[[nodiscard]] schema::Marker inferred_phase_at(const RankDigest& digest, TraceNs at);

// Sorted, disjoint; where phases nest, the one that began last wins.
std::vector<PhasePiece> innermost(std::vector<PhaseRange> phases);

// When the training thread waited for a collective:
//   - in backward from its last autograd node or call of a collective until the last of them ended
//     (DDP's finalize waits there; before it a collective overlaps the backward), and from a call
//     between two nodes until its end, if the thread was idle before that end and continues then;
//   - in another phase, and inside an autograd node, from the call of a collective until its end;
//   - in ranges marked as waits.
// Operators recorded within show that it was not waiting.
IntervalSet blocked_times(const RankDigest& digest, const std::vector<PhaseRange>& phases);

}  // namespace dprof::analyzer
