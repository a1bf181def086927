// SPDX-License-Identifier: Apache-2.0
#include "gui/view/drawing/time_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace dprof::view {
namespace {

using Wide = __int128;

constexpr int64_t floor_div(Wide a, int64_t b) {
  const Wide quotient = a / b;
  return static_cast<int64_t>(a % b < 0 ? quotient - 1 : quotient);
}

// The smallest of 1, 2, 5 × 10^k that is not below `value`.
int64_t round_step(int64_t value) {
  int64_t power = 1;
  while (power <= value / 10) power *= 10;
  for (const int64_t factor : {1, 2, 5, 10}) {
    if (power * factor >= value) return power * factor;
  }
  return power * 10;
}

}  // namespace

TimeScale::TimeScale(Interval range, int width) : range_(range), width_(std::max(width, 1)) {
  length_ = std::max<int64_t>(range.length().ns, width_);
  range_.end = range_.begin + DurationNs{length_};
}

int TimeScale::pixel_of(TraceNs time) const {
  const int64_t beyond = std::clamp<int64_t>(width_, 64, 1 << 14);
  const int64_t from_begin = (time - range_.begin).ns;
  if (from_begin < 0 && from_begin / length_ <= -1) return static_cast<int>(-beyond);
  if (from_begin / length_ >= 2) return static_cast<int>(width_ + beyond);
  constexpr int64_t kNarrow = int64_t{1} << 47;  // times 2^16 pixels still fits 63 bits
  if (from_begin < kNarrow && from_begin > -kNarrow && width_ < (1 << 15)) {
    const int64_t product = from_begin * width_;
    const int64_t quotient = product / length_;
    return static_cast<int>(product % length_ < 0 ? quotient - 1 : quotient);
  }
  return static_cast<int>(floor_div(static_cast<Wide>(from_begin) * width_, length_));
}

TraceNs TimeScale::time_of(int pixel) const {
  // Rounded up: the first nanosecond whose pixel is not below `pixel`.
  return range_.begin + DurationNs{-floor_div(-(static_cast<Wide>(pixel) * length_), width_)};
}

Interval kept_inside(Interval range, Interval bounds) {
  const DurationNs length = std::min(range.length(), bounds.length());
  if (range.begin < bounds.begin) range.begin = bounds.begin;
  if (range.begin + length > bounds.end) range.begin = bounds.end - length;
  range.end = range.begin + length;
  return range;
}

Interval zoomed(const TimeScale& scale, int pixel, int numerator, int denominator,
                Interval bounds) {
  const Interval range = scale.range();
  const TraceNs anchor = scale.time_of(std::clamp(pixel, 0, scale.width()));
  const Wide scaled = static_cast<Wide>(range.length().ns) * numerator / denominator;
  const int64_t length =
      std::clamp(static_cast<int64_t>(scaled), static_cast<int64_t>(scale.width()),
                 std::max<int64_t>(bounds.length().ns, scale.width()));
  const auto before = static_cast<int64_t>(static_cast<Wide>((anchor - range.begin).ns) * length /
                                           std::max<int64_t>(range.length().ns, 1));
  const TraceNs begin = anchor - DurationNs{before};
  return kept_inside({begin, begin + DurationNs{length}}, bounds);
}

Interval panned(const TimeScale& scale, int pixels, Interval bounds) {
  // The same length in both directions, so that going there and back ends at the start.
  const DurationNs length = scale.time_of(std::abs(pixels)) - scale.time_of(0);
  const DurationNs by = pixels < 0 ? -length : length;
  return kept_inside({scale.range().begin + by, scale.range().end + by}, bounds);
}

std::string format_moment(TraceNs time, int64_t resolution_ns) {
  int decimals = 0;
  for (int64_t unit = kNsPerSecond; unit > std::max<int64_t>(resolution_ns, 1); unit /= 10) {
    ++decimals;
  }
  return fmt::format("{:.{}f} s", static_cast<double>(time.ns) / static_cast<double>(kNsPerSecond),
                     decimals);
}

Interval padded(Interval range, int per_thousand) {
  const DurationNs by{range.length().ns * per_thousand / 1000};
  return {range.begin - by, range.end + by};
}

std::vector<Tick> ruler_ticks(const TimeScale& scale, int spacing) {
  const int64_t least = (scale.time_of(spacing) - scale.time_of(0)).ns;
  const int64_t step = round_step(std::max<int64_t>(least, 1));
  std::vector<Tick> ticks;
  const int64_t first = -floor_div(-static_cast<Wide>(scale.range().begin.ns), step) * step;
  for (int64_t at = first; at < scale.range().end.ns; at += step) {
    const TraceNs time{at};
    ticks.push_back({time, scale.pixel_of(time), format_moment(time, step)});
  }
  return ticks;
}

}  // namespace dprof::view
