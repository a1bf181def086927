// SPDX-License-Identifier: Apache-2.0
// Rows or columns of a map that share a number of pixels, which may be fewer than they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace dprof::view {

inline constexpr int kLeastLevel = 14;  // of an image: known values are never quite the canvas

// The level of a share (0…1) of the highest value.
[[nodiscard]] inline uint8_t level_of_share(double share) {
  return static_cast<uint8_t>(kLeastLevel + share * (255 - kLeastLevel));
}

// Where the one at `index` begins.
[[nodiscard]] inline int position_of(size_t index, size_t count, int pixels) {
  return static_cast<int>((static_cast<int64_t>(index) * pixels + static_cast<int64_t>(count) - 1) /
                          static_cast<int64_t>(count));
}

// Which of them stand in a pixel: first and one past the last, never none.
[[nodiscard]] inline std::pair<size_t, size_t> part_of(int pixel, int pixels, size_t count) {
  const auto n = static_cast<int64_t>(count);
  const int64_t first = pixel * n / pixels;
  const int64_t end = std::max(first + 1, (pixel + 1) * n / pixels);
  return {static_cast<size_t>(first), static_cast<size_t>(std::min(end, n))};
}

}  // namespace dprof::view
