// SPDX-License-Identifier: Apache-2.0
// How a global batch is divided among ranks of unequal speed. Plain arithmetic, without torch: all
// ranks come to the same answer from the same figures.
#pragma once

#include <cstdint>
#include <vector>

namespace dprof::trainer_harness {

// Divides `total` samples in proportion to `weights` (above 0): each rank gets one at least, and
// the sum is exactly `total`. Throws UsageError where there are fewer samples than ranks.
[[nodiscard]] std::vector<int64_t> divide_samples(int64_t total,
                                                  const std::vector<double>& weights);

// What a rank did since the last division.
struct RankSpeed {
  double samples = 0;
  double seconds = 0;  // of its own work, without waiting for others
};

// The division after `present`, by what was measured: half way to where all ranks would need
// equally long, and for no rank less than half or more than twice of what it has, so that one
// disturbed measurement does no harm.
[[nodiscard]] std::vector<int64_t> rebalanced(const std::vector<int64_t>& present,
                                              const std::vector<RankSpeed>& measured);

}  // namespace dprof::trainer_harness
