// SPDX-License-Identifier: Apache-2.0
// Finds where a clock was set or stood still: the offset that is possible before cannot be joined
// with that after by any drift that clocks have.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/align/cloud.h"

namespace dprof::analyzer {

// A stretch of time without a reset, with the points in it.
struct CloudPart {
  double begin = 0;  // of its first and last point
  double end = 0;
  std::vector<Point> lower;
  std::vector<Point> upper;
  std::vector<Point> middle;
};

struct CloudParts {
  std::vector<CloudPart> parts;  // in order of time; one at least has points on both sides
  int64_t contradicting = 0;     // blocks that agree neither with what was before nor after
};

// `cloud` is sorted. O(points).
[[nodiscard]] CloudParts split_at_resets(const Cloud& cloud);

}  // namespace dprof::analyzer
