// SPDX-License-Identifier: Apache-2.0
// Decides which times of a trace can be trusted at all.
#pragma once

#include <cstdint>

namespace dprof::analyzer {

// Beyond these a time makes no sense, and sums of two could overflow.
inline constexpr int64_t kTimeLimit = int64_t{1} << 60;

[[nodiscard]] constexpr bool sensible(int64_t time) {
  return time > -kTimeLimit && time < kTimeLimit;
}

}  // namespace dprof::analyzer
