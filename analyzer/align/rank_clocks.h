// SPDX-License-Identifier: Apache-2.0
// How well the times of each two ranks can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/align/clock_map.h"

namespace dprof::analyzer {

// By rank, in the order of the traces.
struct RankClocks {
  std::vector<ClockMap> maps;  // from a rank's times before put_on_axis to the axis

  // Which clock each rank has; empty = one each. Where a clock has several recorders, which of
  // them and how well that is tied to the others.
  std::vector<size_t> clock_of;
  std::vector<int64_t> recorder_of;
  std::vector<int64_t> recorder_bound_ns;

  // What a difference of times of two ranks can be wrong by; nullopt = unknown, 0 = they have one
  // clock. The times are on the axis.
  [[nodiscard]] std::optional<int64_t> bound_between(size_t rank, TraceNs at, size_t other,
                                                     TraceNs other_at) const;
};

}  // namespace dprof::analyzer
