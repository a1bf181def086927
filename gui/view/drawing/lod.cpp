// SPDX-License-Identifier: Apache-2.0
#include "gui/view/drawing/lod.h"

#include <algorithm>

namespace dprof::view {
namespace {

constexpr size_t kFan = 16;
constexpr int kFoldPixels = 2;  // slices narrower than this share a box of this width

// First index in [from, size) whose start is not before `time`, looking near `from` first.
size_t gallop(std::span<const int64_t> starts, size_t from, int64_t time) {
  size_t step = 1;
  size_t low = from;
  size_t high = from;
  while (high < starts.size() && starts[high] < time) {
    low = high + 1;
    high += step;
    step *= 2;
  }
  high = std::min(high, starts.size());
  const auto begin = starts.begin();
  return static_cast<size_t>(std::lower_bound(begin + static_cast<std::ptrdiff_t>(low),
                                              begin + static_cast<std::ptrdiff_t>(high), time) -
                             begin);
}

// The first pixel left free by slice `i`: the one within which it ends is its own, unless the next
// slice begins there.
int pixel_after(const Slices& slices, const TimeScale& scale, size_t i) {
  const int64_t last = std::max(slices.end_ns(i) - 1, slices.start_ns[i]);
  const int after = scale.pixel_of(TraceNs{last}) + 1;
  if (i + 1 == slices.size()) return after;
  return std::min(after, std::max(scale.pixel_of(TraceNs{slices.start_ns[i + 1]}), after - 1));
}

}  // namespace

LodIndex::LodIndex(std::span<const int64_t> duration_ns) {
  const auto longer = [&](uint32_t a, uint32_t b) {
    return duration_ns[b] > duration_ns[a] ? b : a;
  };
  std::vector<uint32_t> level;
  for (size_t begin = 0; begin < duration_ns.size(); begin += kFan) {
    auto best = static_cast<uint32_t>(begin);
    const size_t end = std::min(begin + kFan, duration_ns.size());
    for (size_t i = begin + 1; i < end; ++i) best = longer(best, static_cast<uint32_t>(i));
    level.push_back(best);
  }
  while (level.size() > 1) {
    std::vector<uint32_t> above;
    for (size_t begin = 0; begin < level.size(); begin += kFan) {
      uint32_t best = level[begin];
      const size_t end = std::min(begin + kFan, level.size());
      for (size_t i = begin + 1; i < end; ++i) best = longer(best, level[i]);
      above.push_back(best);
    }
    levels_.push_back(std::move(level));
    level = std::move(above);
  }
  if (!level.empty()) levels_.push_back(std::move(level));
}

uint32_t LodIndex::longest(std::span<const int64_t> duration_ns, size_t first, size_t last) const {
  auto best = static_cast<uint32_t>(first);
  // Entries come from both ends, so ties are resolved by the smaller index.
  const auto consider = [&](uint32_t other) {
    const int64_t a = duration_ns[best];
    const int64_t b = duration_ns[other];
    if (b > a || (b == a && other < best)) best = other;
  };
  while (first < last && first % kFan != 0) consider(static_cast<uint32_t>(first++));
  while (first < last && last % kFan != 0) consider(static_cast<uint32_t>(--last));
  first /= kFan;
  last /= kFan;
  for (const std::vector<uint32_t>& level : levels_) {
    if (first >= last) break;
    while (first < last && first % kFan != 0) consider(level[first++]);
    while (first < last && last % kFan != 0) consider(level[--last]);
    first /= kFan;
    last /= kFan;
  }
  return best;
}

size_t first_ending_after(const Slices& slices, TraceNs time) {
  const auto begin = slices.start_ns.begin();
  const auto after = std::upper_bound(begin, slices.start_ns.end(), time.ns);
  auto index = static_cast<size_t>(after - begin);
  // Slices do not overlap, so only the last one begun can still be running.
  if (index > 0 && slices.end_ns(index - 1) > time.ns) --index;
  return index;
}

size_t count_in(const Slices& slices, Interval range) {
  const size_t first = first_ending_after(slices, range.begin);
  const auto end = std::lower_bound(slices.start_ns.begin(), slices.start_ns.end(), range.end.ns);
  const auto last = static_cast<size_t>(end - slices.start_ns.begin());
  return last > first ? last - first : 0;
}

void boxes_of(const Slices& slices, const LodIndex& index, const TimeScale& scale,
              std::vector<SliceBox>& out) {
  out.clear();
  const int64_t range_end = scale.range().end.ns;
  size_t i = first_ending_after(slices, scale.range().begin);
  while (i < slices.size() && slices.start_ns[i] < range_end) {
    const int x0 = scale.pixel_of(TraceNs{slices.start_ns[i]});
    const int x1 = pixel_after(slices, scale, i);
    if (x1 - x0 >= kFoldPixels) {
      out.push_back({x0, x1, static_cast<uint32_t>(i), static_cast<uint32_t>(i), 1});
      ++i;
      continue;
    }
    const int bucket_end = x0 + kFoldPixels;
    const int64_t until = std::min(scale.time_of(bucket_end).ns, range_end);
    size_t next = gallop(slices.start_ns, i + 1, until);
    // The last one can extend far beyond the bucket: it is painted separately.
    if (next - i > 1 && scale.pixel_of(TraceNs{slices.end_ns(next - 1)}) > bucket_end) --next;
    const uint32_t longest =
        next - i == 1 ? static_cast<uint32_t>(i) : index.longest(slices.duration_ns, i, next);
    const auto count = static_cast<uint32_t>(next - i);
    const int end = std::max(pixel_after(slices, scale, next - 1), x0 + 1);
    SliceBox* previous = out.empty() ? nullptr : &out.back();
    if (previous != nullptr && previous->count > 1 && count > 1 && previous->x1 >= x0 &&
        slices.category[previous->slice] == slices.category[longest]) {
      previous->x1 = end;
      previous->count += count;
      if (slices.duration_ns[longest] > slices.duration_ns[previous->slice]) {
        previous->slice = longest;
      }
    } else {
      out.push_back({x0, end, longest, static_cast<uint32_t>(i), count});
    }
    i = next;
  }
}

}  // namespace dprof::view
