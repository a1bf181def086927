// SPDX-License-Identifier: Apache-2.0
// Level of detail: draws a lane with millions of slices on a few thousand pixels, at a cost that
// depends on the pixels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gui/view/drawing/time_scale.h"

namespace dprof::view {

// One lane's slices as columns, sorted by start, never overlapping. Not owned.
struct Slices {
  std::span<const int64_t> start_ns;
  std::span<const int64_t> duration_ns;
  std::span<const uint8_t> category;

  [[nodiscard]] size_t size() const { return start_ns.size(); }
  [[nodiscard]] int64_t end_ns(size_t i) const { return start_ns[i] + duration_ns[i]; }
};

// Finds the longest of consecutive slices: a 16-ary tree of maxima over the durations.
//
// Cost  build O(n), 4/15 bytes per slice; longest() O(log16 n) steps of up to 30 comparisons.
class LodIndex {
 public:
  LodIndex() = default;
  explicit LodIndex(std::span<const int64_t> duration_ns);

  // Index of the longest slice in [first, last); the earliest of equals. Needs first < last.
  [[nodiscard]] uint32_t longest(std::span<const int64_t> duration_ns, size_t first,
                                 size_t last) const;

 private:
  std::vector<std::vector<uint32_t>> levels_;  // [0] = one entry per 16 slices
};

// One painted box: a slice, or several that are too narrow to distinguish.
struct SliceBox {
  int x0 = 0;  // pixels, half-open, at least one wide
  int x1 = 0;
  uint32_t slice = 0;  // the slice, or the longest of those folded
  uint32_t first = 0;  // the first of those folded
  uint32_t count = 1;
};

// Boxes for all slices that overlap the scale's range, in order, at least `fold_below` pixels wide
// or folded with their neighbours. Every such slice is counted in exactly one box; no pixel that a
// slice occupies stays empty.
void boxes_of(const Slices& slices, const LodIndex& index, const TimeScale& scale,
              std::vector<SliceBox>& out);

// The first slice that ends after `time`; size() if none does. O(log n).
[[nodiscard]] size_t first_ending_after(const Slices& slices, TraceNs time);

// Number of slices that overlap the range. O(log n).
[[nodiscard]] size_t count_in(const Slices& slices, Interval range);

}  // namespace dprof::view
