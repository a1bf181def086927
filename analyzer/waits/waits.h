// SPDX-License-Identifier: Apache-2.0
// Divides the time of matched collectives and messages into waiting for others and transfer, which
// needs both the matching and the clocks.
#pragma once

#include <span>
#include <vector>

#include "analyzer/align/result.h"
#include "analyzer/digest/digest.h"
#include "analyzer/match/result.h"
#include "base/interval.h"

namespace dprof::analyzer {

// Divides each instance into waiting and transfer, pairs sends with receives, and orders instances
// by first arrival. The digests' times are on the axis of `alignment`; for ranks without a bound
// only durations are compared.
void settle_times(Matching& matching, std::span<const RankDigest> digests,
                  const Alignment& alignment);

// A collective for a rank's lattice: when it ran here, and when the last member arrived.
struct CommSpan {
  Interval span;
  TraceNs arrive;     // of the last member; >= span.end: never within it
  size_t record = 0;  // position in the rank's collectives
};

// By begin. A message's time is divided at the arrival of the later side. For collectives and
// messages that cannot be compared across ranks, the best transfer of the same group, function and
// size is used. Unfinished ones extend to the end of the trace.
[[nodiscard]] std::vector<CommSpan> comm_spans(std::span<const RankDigest> digests,
                                               const Matching& matching, size_t digest);

}  // namespace dprof::analyzer
