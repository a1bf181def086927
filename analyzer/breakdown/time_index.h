// SPDX-License-Identifier: Apache-2.0
// Quickly computes how much of each of many intervals a set covers.
#pragma once

#include <vector>

#include "base/interval.h"

namespace dprof::analyzer {

// Exact, in integer nanoseconds. Memory O(intervals).
class TimeIndex {
 public:
  explicit TimeIndex(IntervalSet set);  // canonical

  [[nodiscard]] int64_t before(TraceNs time) const;  // O(log intervals)
  [[nodiscard]] int64_t within(TraceNs begin, TraceNs end) const {
    return end <= begin ? 0 : before(end) - before(begin);
  }
  [[nodiscard]] const IntervalSet& set() const { return set_; }
  [[nodiscard]] int64_t within(Interval span) const { return within(span.begin, span.end); }

 private:
  IntervalSet set_;
  std::vector<int64_t> before_;  // total length of earlier intervals
};

}  // namespace dprof::analyzer
