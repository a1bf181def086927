// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/time_index.h"

#include <algorithm>

namespace dprof::analyzer {

TimeIndex::TimeIndex(IntervalSet set) : set_(std::move(set)) {
  before_.reserve(set_.size());
  int64_t before = 0;
  for (const Interval& interval : set_) {
    before_.push_back(before);
    before += interval.length().ns;
  }
}

int64_t TimeIndex::before(TraceNs time) const {
  const auto next = std::ranges::upper_bound(set_, time, {}, &Interval::begin);
  if (next == set_.begin()) return 0;
  const auto i = static_cast<size_t>(next - set_.begin()) - 1;
  return before_[i] + (std::min(time, set_[i].end) - set_[i].begin).ns;
}

}  // namespace dprof::analyzer
