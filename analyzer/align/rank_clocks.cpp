// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/rank_clocks.h"

namespace dprof::analyzer {

std::optional<int64_t> RankClocks::bound_between(size_t rank, TraceNs at, size_t other,
                                                 TraceNs other_at) const {
  int64_t recorders = 0;
  if (!clock_of.empty()) {
    const bool one_clock = clock_of[rank] == clock_of[other];
    if (one_clock && recorder_of[rank] == recorder_of[other]) return 0;
    recorders = recorder_bound_ns[rank] + recorder_bound_ns[other];
    if (one_clock) return recorders;
  }
  const std::optional<int64_t> mine = maps[rank].bound_on_axis(at);
  const std::optional<int64_t> theirs = maps[other].bound_on_axis(other_at);
  if (!mine || !theirs) return std::nullopt;
  return *mine + *theirs + recorders;
}

}  // namespace dprof::analyzer
