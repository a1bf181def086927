// SPDX-License-Identifier: Apache-2.0
// The offset between two clocks over time, from a cloud of possible values
// (docs/analysis/clocks.md, steps 2 to 4): the skew by convex hulls, then, with the skew removed,
// the least delays of each direction independently in windows of 10 s.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/align/clock_map.h"
#include "analyzer/align/cloud.h"
#include "base/interval.h"

namespace dprof::analyzer {

struct OffsetFit {
  ClockMap map;  // from the one clock to the other
  double drift = 0;
  int64_t resets = 0;
  int64_t contradicting = 0;  // blocks of evidence left out because they cannot be true
  std::optional<int64_t> likely_ns;
};

// nullopt: the cloud bounds the offset from one side only. The map's bounds hold everywhere in
// `covers`; they grow where there is no evidence. O(points log points).
[[nodiscard]] std::optional<OffsetFit> fit_offset(Cloud cloud, Interval covers);

}  // namespace dprof::analyzer
