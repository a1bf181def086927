// SPDX-License-Identifier: Apache-2.0
// Rows or columns of a map that share a number of pixels, possibly fewer than one each; and how
// they are numbered.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace dprof::view {

inline constexpr int kLeastLevel = 14;  // of an image: known values always differ from the canvas

// The level of a share (0…1) of the highest value.
[[nodiscard]] inline uint8_t level_of_share(double share) {
  return static_cast<uint8_t>(kLeastLevel + share * (255 - kLeastLevel));
}

// The pixel at which the one at `index` begins.
[[nodiscard]] inline int position_of(size_t index, size_t count, int pixels) {
  return static_cast<int>((static_cast<int64_t>(index) * pixels + static_cast<int64_t>(count) - 1) /
                          static_cast<int64_t>(count));
}

// Those within a pixel: first and one past the last, at least one.
[[nodiscard]] inline std::pair<size_t, size_t> part_of(int pixel, int pixels, size_t count) {
  const auto n = static_cast<int64_t>(count);
  const int64_t first = pixel * n / pixels;
  const int64_t end = std::max(first + 1, (pixel + 1) * n / pixels);
  return {static_cast<size_t>(first), static_cast<size_t>(std::min(end, n))};
}

// The interval at which there is room for numbers: 1, 2, 5, 10, 20 …
[[nodiscard]] inline int64_t label_stride(double spacing, int label_width) {
  constexpr int64_t kMost = 1'000'000'000;
  for (int64_t power = 1; power < kMost; power *= 10) {
    for (const int64_t factor : {1, 2, 5}) {
      if (static_cast<double>(power * factor) * spacing >= label_width) return power * factor;
    }
  }
  return kMost;
}

// Those that get a label that takes `needed` pixels: the wanted ones as far as they fit, and
// those at a regular stride with enough room beside these.
template <typename Wanted>
[[nodiscard]] std::vector<size_t> labelled_places(size_t count, int pixels, int needed,
                                                  const Wanted& wanted) {
  const double spacing = static_cast<double>(pixels) / static_cast<double>(count);
  const auto stride = static_cast<size_t>(label_stride(spacing, needed));
  const auto apart = [&](size_t one, size_t other) {
    return static_cast<double>(one < other ? other - one : one - other) * spacing >= needed;
  };
  std::vector<size_t> places;
  for (size_t i = 0; i < count; ++i) {
    if (wanted(i) && (places.empty() || apart(places.back(), i))) places.push_back(i);
  }
  const std::vector<size_t> first = places;
  for (size_t i = 0; i < count; i += stride) {
    const bool free =
        std::all_of(first.begin(), first.end(), [&](size_t one) { return apart(one, i); });
    if (free) places.push_back(i);
  }
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace dprof::view
