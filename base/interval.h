// SPDX-License-Identifier: Apache-2.0
// Half-open intervals of time [begin, end) and operations on sets of them. Exact, in integer
// nanoseconds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"

namespace dprof {

struct Interval {
  TraceNs begin;
  TraceNs end;

  [[nodiscard]] constexpr DurationNs length() const { return end - begin; }
  [[nodiscard]] constexpr bool empty() const { return end <= begin; }
  friend constexpr bool operator==(const Interval&, const Interval&) = default;
};

// Sorted, disjoint, non-empty intervals: the canonical form that the functions below return and (as
// IntervalSet) expect.
using IntervalSet = std::vector<Interval>;

// Converts any intervals to canonical form; touching ones are merged. O(n log n).
[[nodiscard]] IntervalSet union_of(std::vector<Interval> intervals);

// Set operations on canonical sets. O(n + m).
[[nodiscard]] IntervalSet union_of(const IntervalSet& a, const IntervalSet& b);
[[nodiscard]] IntervalSet intersection_of(const IntervalSet& a, const IntervalSet& b);
[[nodiscard]] IntervalSet difference_of(const IntervalSet& a, const IntervalSet& b);
[[nodiscard]] IntervalSet clipped(const IntervalSet& set, Interval window);

// Total length of a canonical set.
[[nodiscard]] DurationNs measure(const IntervalSet& set);

// Length of the common part of two arbitrary collections; every instant counts once.
[[nodiscard]] int64_t overlap_ns(std::span<const Interval> a, std::span<const Interval> b);

// The position of the item whose interval contains the moment; nullopt = none. The items must be
// sorted and disjoint. O(log n).
template <typename Things, typename IntervalOf = std::identity>
[[nodiscard]] std::optional<size_t> holder_of(const Things& things, TraceNs at,
                                              IntervalOf interval_of = {}) {
  const auto next = std::ranges::upper_bound(
      things, at, {}, [&](const auto& thing) { return std::invoke(interval_of, thing).begin; });
  if (next == std::ranges::begin(things)) return std::nullopt;
  if (at >= std::invoke(interval_of, *std::prev(next)).end) return std::nullopt;
  return static_cast<size_t>(next - std::ranges::begin(things)) - 1;
}

}  // namespace dprof
