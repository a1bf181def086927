// SPDX-License-Identifier: Apache-2.0
// Places clocks on one axis from probes between pairs of them: takes the paths with the smallest
// bounds, and where there are several paths, the offsets that agree best with all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/align/offset_fit.h"
#include "base/interval.h"

namespace dprof::analyzer {

// The evidence of probes about two clocks: `fit.map` leads from the one to the other.
struct ClockEdge {
  size_t from = 0;
  size_t to = 0;
  OffsetFit fit;
  int64_t probes = 0;
};

struct PlacedClock {
  ClockMap map;  // to the axis; identity for the reference
  double drift = 0;
  int64_t resets = 0;
  int64_t likely_ns = 0;
  int64_t probes = 0;
};

struct ClockGraph {
  std::vector<std::optional<PlacedClock>> clocks;  // nullopt: no path of probes to the reference
  int64_t contradicting_edges = 0;                 // left out: they contradict the others
};

// `covers` is the part of the axis on which clocks are compared. O(edges * knots), and with loops
// O(iterations * edges * times).
[[nodiscard]] ClockGraph place_clocks(size_t clocks, size_t reference,
                                      std::span<const ClockEdge> edges, Interval covers);

// Offsets x (x[reference] = 0) that minimise the sum of |x[from] - x[to] - residual| / width: least
// absolute deviations, by iteratively re-weighted least squares. A clock without an edge gets 0.
struct Residual {
  size_t from = 0;
  size_t to = 0;
  double value = 0;
  double width = 0;
};
[[nodiscard]] std::vector<double> least_absolute(size_t clocks, size_t reference,
                                                 std::span<const Residual> residuals);

// The tightest limits of x[i], over all paths, under |x[from] - x[to] - value| <= width. nullopt:
// the residuals contradict each other.
struct Limits {
  std::vector<double> least;
  std::vector<double> most;
};
[[nodiscard]] std::optional<Limits> limits_of(size_t clocks, size_t reference,
                                              std::span<const Residual> residuals);

}  // namespace dprof::analyzer
