// SPDX-License-Identifier: Apache-2.0
// Pixels and time, in integers: drawing and hit testing use the same nanosecond.
#pragma once

#include <string>
#include <vector>

#include "base/interval.h"

namespace dprof::view {

// Maps a range of time onto `width` pixels.
//
// Invariant  the range is at least one nanosecond per pixel long, so that
//            pixel_of(time_of(p)) == p for every pixel in it.
// Cost       one 64-bit division each; ranges up to 26 days on 4,096 pixels need no wider one.
class TimeScale {
 public:
  TimeScale(Interval range, int width);

  // The pixel column that shows `time`; if far outside, a value just beyond the screen.
  [[nodiscard]] int pixel_of(TraceNs time) const;
  // The first nanosecond of a pixel column.
  [[nodiscard]] TraceNs time_of(int pixel) const;

  [[nodiscard]] Interval range() const { return range_; }
  [[nodiscard]] int width() const { return width_; }

 private:
  Interval range_;
  int64_t length_;
  int width_;
};

// The range after zooming by numerator/denominator (below 1 = in), inside `bounds`; the time under
// `pixel` stays there.
[[nodiscard]] Interval zoomed(const TimeScale& scale, int pixel, int numerator, int denominator,
                              Interval bounds);

// The range moved by a number of pixels, inside `bounds`.
[[nodiscard]] Interval panned(const TimeScale& scale, int pixels, Interval bounds);

// The range shifted (and cut, if it is longer) so that it is inside `bounds`.
[[nodiscard]] Interval kept_inside(Interval range, Interval bounds);

// The range extended by that part of its length on each side.
[[nodiscard]] Interval padded(Interval range, int per_thousand);

struct Tick {
  TraceNs time;
  int x = 0;
  std::string label;  // "41.18 s"
};

// Ticks at round times, at least `spacing` pixels apart.
[[nodiscard]] std::vector<Tick> ruler_ticks(const TimeScale& scale, int spacing);

// "41.231 s", with the digits that distinguish times `resolution_ns` apart.
[[nodiscard]] std::string format_moment(TraceNs time, int64_t resolution_ns);

}  // namespace dprof::view
