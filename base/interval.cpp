// SPDX-License-Identifier: Apache-2.0
#include "base/interval.h"

#include <algorithm>

namespace dprof {

IntervalSet union_of(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.empty(); });
  if (!std::ranges::is_sorted(intervals, {}, &Interval::begin))
    std::ranges::sort(intervals, {}, &Interval::begin);
  // In place: there can be millions.
  size_t merged = 0;
  for (const Interval next : intervals) {
    if (merged > 0 && next.begin <= intervals[merged - 1].end) {
      intervals[merged - 1].end = std::max(intervals[merged - 1].end, next.end);
    } else {
      intervals[merged++] = next;
    }
  }
  intervals.resize(merged);
  return intervals;
}

IntervalSet union_of(const IntervalSet& a, const IntervalSet& b) {
  std::vector<Interval> both;
  both.reserve(a.size() + b.size());
  std::ranges::merge(a, b, std::back_inserter(both), {}, &Interval::begin, &Interval::begin);
  return union_of(std::move(both));
}

IntervalSet intersection_of(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet common;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Interval part{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (!part.empty()) common.push_back(part);
    (a[i].end < b[j].end) ? ++i : ++j;
  }
  return common;
}

IntervalSet difference_of(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet rest;
  size_t j = 0;
  for (const Interval& whole : a) {
    TraceNs from = whole.begin;
    while (j < b.size() && b[j].end <= from) ++j;
    for (size_t k = j; k < b.size() && b[k].begin < whole.end; ++k) {
      if (from < b[k].begin) rest.push_back({from, b[k].begin});
      from = std::max(from, b[k].end);
    }
    if (from < whole.end) rest.push_back({from, whole.end});
  }
  return rest;
}

IntervalSet clipped(const IntervalSet& set, Interval window) {
  if (window.empty()) return {};
  return intersection_of(set, {window});
}

DurationNs measure(const IntervalSet& set) {
  DurationNs total;
  for (const Interval& i : set) total += i.length();
  return total;
}

int64_t overlap_ns(std::span<const Interval> a, std::span<const Interval> b) {
  const IntervalSet left = union_of(std::vector(a.begin(), a.end()));
  const IntervalSet right = union_of(std::vector(b.begin(), b.end()));
  return measure(intersection_of(left, right)).ns;
}

}  // namespace dprof
