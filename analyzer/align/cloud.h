// SPDX-License-Identifier: Apache-2.0
// Evidence about the offset between two clocks: times at which it was at least, at most or about a
// value. Probes and collectives give the same kind of evidence, so one estimator handles both.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/align/hull.h"
#include "base/time.h"

namespace dprof::analyzer {

// Times and offsets are relative to the first point, so that a constant added to all times of a
// host changes nothing.
class Cloud {
 public:
  // The offset at `at` is at least, at most or about `offset_ns`.
  void at_least(TraceNs at, int64_t offset_ns) { lower.push_back(relative(at, offset_ns)); }
  void at_most(TraceNs at, int64_t offset_ns) { upper.push_back(relative(at, offset_ns)); }
  void about(TraceNs at, int64_t offset_ns) { middle.push_back(relative(at, offset_ns)); }
  void sort();

  [[nodiscard]] bool empty() const { return lower.empty() || upper.empty(); }
  [[nodiscard]] TraceNs time_of(double t) const { return {origin_.ns + static_cast<int64_t>(t)}; }
  [[nodiscard]] int64_t offset_of(double v) const { return base_ns_ + static_cast<int64_t>(v); }

  std::vector<Point> lower;
  std::vector<Point> upper;
  std::vector<Point> middle;  // empty: use the middle of the possible range

 private:
  Point relative(TraceNs at, int64_t offset_ns);

  bool has_origin_ = false;
  TraceNs origin_;
  int64_t base_ns_ = 0;
};

}  // namespace dprof::analyzer
