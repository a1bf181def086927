// SPDX-License-Identifier: Apache-2.0
// The training phase of each moment.
#pragma once

#include <vector>

#include "base/interval.h"
#include "schema/marker_names.h"

namespace dprof::analyzer {

struct MemoryContext;

// From `begin` until the next phase's `begin`.
struct MemoryPhase {
  TraceNs begin;
  schema::Marker phase = schema::Marker::kNone;
};

// The innermost marked phase of each moment. If no backward is marked, it extends from the first to
// the last autograd node between two other phases or ends of steps; if no forward is, it is the
// time before a backward. O((phases + autograd nodes) log).
[[nodiscard]] std::vector<MemoryPhase> phase_pieces(const MemoryContext& so_far);

// Position of the piece that holds `at`; pieces.size() = before the first.
[[nodiscard]] size_t piece_at(const std::vector<MemoryPhase>& pieces, TraceNs at);

}  // namespace dprof::analyzer
