// SPDX-License-Identifier: Apache-2.0
// Finds where a clock was set or stood still: no realistic drift joins the offsets possible before
// with those after.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/align/cloud.h"

namespace dprof::analyzer {

// A stretch of time without a reset, and the points in it.
struct CloudPart {
  double begin = 0;  // of its first and last point
  double end = 0;
  std::vector<Point> lower;
  std::vector<Point> upper;
  std::vector<Point> middle;
};

struct CloudParts {
  std::vector<CloudPart> parts;  // in order of time; at least one has points on both sides
  int64_t contradicting = 0;     // blocks that agree neither with those before nor those after
};

// `cloud` is sorted. O(points).
[[nodiscard]] CloudParts split_at_resets(const Cloud& cloud);

}  // namespace dprof::analyzer
