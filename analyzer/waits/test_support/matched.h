// SPDX-License-Identifier: Apache-2.0
// For tests: matches collectives and settles their times in one call.
#pragma once

#include "analyzer/align/align.h"
#include "analyzer/match/match.h"
#include "analyzer/waits/waits.h"

namespace dprof::analyzer {

// `count` ranks whose clocks are known to within `bound_ns` each; nullopt = not at all, 0 = one
// shared clock.
inline Alignment alignment_of(size_t count, std::optional<int64_t> bound_ns) {
  Alignment alignment;
  alignment.aligned = bound_ns.has_value();
  alignment.maps.resize(count);
  if (bound_ns == 0) return alignment;
  for (ClockMap& map : alignment.maps)
    map = ClockMap({{.local = TraceNs{0}, .offset_ns = 0, .bound_ns = bound_ns}});
  return alignment;
}

inline Matching matched(std::span<const RankDigest> digests, const Alignment& alignment) {
  Matching matching = match_collectives(digests);
  settle_times(matching, digests, alignment);
  return matching;
}

inline Matching matched(std::span<const RankDigest> digests, bool aligned) {
  return matched(digests, alignment_of(digests.size(), aligned ? std::optional<int64_t>(0)
                                                               : std::optional<int64_t>()));
}

}  // namespace dprof::analyzer
